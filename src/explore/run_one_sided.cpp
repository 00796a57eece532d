// What a run does about windows: it reads what ranks want of each other's, and has it carried out.
#include <fmt/format.h>

#include <algorithm>

#include "explore/run.hpp"

namespace reprise::explore {

using virtual_world::Act;
using virtual_world::as_number;
using virtual_world::SeatState;

void Run::read_one_sided(int rank, Act act, const std::uint64_t* words, std::size_t count, RunResult& result) {
  OneSided& all = matcher_.one_sided();
  const auto place = [&](OneSidedItem& item, std::uint64_t site, std::uint64_t function) {
    item.site = site;
    item.function = static_cast<std::uint32_t>(function & (virtual_world::kInRegion - 1));
    item.in_region = (function & virtual_world::kInRegion) != 0;
    result.has_regions |= item.in_region;
  };
  switch (act) {
    case Act::Window: all.causality.begin(ends_.size()); break;
    case Act::Access: {
      const auto* const block =
          reinterpret_cast<const virtual_world::AccessBlock*>(reinterpret_cast<const char*>(stage_) + words[2]);
      OneSidedItem item;
      item.window = block->window;
      item.target = as_number(words[1]);
      item.kind = block->kind;
      item.operation = block->operation;
      item.replaces = block->replaces != 0;
      item.reads = block->reads != 0;
      item.runs.assign(block->run_list(), block->run_list() + block->runs);
      item.data = words[2];
      place(item, words[3], words[4]);
      matcher_.add_one_sided(rank, static_cast<OperationId>(words[0]), std::move(item));
      break;
    }
    case Act::Lock: {
      OneSidedItem item;
      item.what = OneSidedItem::What::Lock;
      item.window = words[1];
      item.target = as_number(words[2]);
      item.exclusive = words[3] != 0;
      place(item, words[4], words[5]);
      matcher_.add_one_sided(rank, static_cast<OperationId>(words[0]), std::move(item));
      break;
    }
    case Act::Unlock: all.unlock(rank, words[0], as_number(words[1])); break;
    case Act::Close: all.close(rank, words[0], as_number(words[1])); break;
    case Act::Stored: {
      std::vector<OneSidedItem::Run> runs;
      for (std::size_t i = 3; i + 1 < count; i += 2) runs.push_back({words[i], words[i + 1]});
      all.stored(rank, words[0], runs, words[1], static_cast<std::uint32_t>(words[2]));
      break;
    }
    default: break;
  }
}

// Everybody waits, so the targets have time, and nobody sees anything half done.
bool Run::serve_accesses(RunResult& result) {
  for (std::vector<int> due; !(due = matcher_.due_accesses()).empty();) {
    std::vector<std::vector<std::uint64_t>> by_target(ends_.size());
    for (const int index : due) {
      const OneSidedItem& item = matcher_.one_sided().item(index);
      by_target[static_cast<std::size_t>(item.target)].push_back(item.data);
    }
    for (std::size_t target = 0; target < by_target.size(); ++target) {
      if (by_target[target].empty() || ends_[target].over) continue;
      std::uint64_t* to = virtual_world::reply_of(stage_, static_cast<int>(target));
      const std::size_t size = std::min(by_target[target].size(), virtual_world::kReplyWords - 1);
      *to++ = size;
      std::copy_n(by_target[target].begin(), size, to);
      stage_->acting.fetch_add(1, std::memory_order_relaxed);
      auto& seat = stage_->seats[target];
      seat.state.store(static_cast<std::uint32_t>(SeatState::Serves), std::memory_order_release);
      futex_wake(seat.state, 1);
    }
    matcher_.one_sided().carried_out(due);
    if (!await_quiescence(result)) return false;
    for (std::size_t target = 0; target < by_target.size(); ++target) {
      if (by_target[target].empty() || ends_[target].over) continue;
      read_script(static_cast<int>(target), result);  // what it found wrong
      if (stage_->seats[target].state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(SeatState::Gone))
        note_end(static_cast<int>(target), result);
    }
    look_for_conflicts(result);
  }
  return true;
}

void Run::look_for_conflicts(RunResult& result) {
  for (const OneSided::Conflict& conflict : matcher_.one_sided().take_conflicts()) {
    const bool stored = conflict.first.is_store || conflict.second.is_store;
    Problem problem{stored ? Category::WindowStore : Category::WindowConflict, {}, 0, conflict.words, false};
    for (const OneSidedItem* const item : {&conflict.first, &conflict.second})
      problem.places.push_back({item->rank, 0, item->site, item->function,
                                item->is_store ? "stored before this call" : fmt::format("window of {}", item->target), 0});
    result.problems.push_back(std::move(problem));
  }
}

std::string Run::awaited_lock(int item) const {
  std::string words = fmt::format("window of {}", matcher_.one_sided().item(item).target);
  const auto holders = matcher_.one_sided().holders(item);
  for (std::size_t i = 0; i < holders.size(); ++i)
    words += fmt::format("{}{}", i == 0 ? ", locked by " : ", ", holders[i]);
  return words;
}

}  // namespace reprise::explore
