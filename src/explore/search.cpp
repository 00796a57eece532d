#include "explore/search.hpp"

namespace reprise::explore {

std::vector<std::uint32_t> Search::Open::options() const {
  if (!path) return all;
  std::vector<std::uint32_t> taken;
  taken.reserve(length + 1);
  for (std::size_t i = 0; i < length; ++i) taken.push_back((*path)[i].option);
  taken.push_back(option);
  return taken;
}

void Search::continue_with(const std::vector<std::vector<std::uint32_t>>& left) {
  open_.clear();
  for (auto options = left.rbegin(); options != left.rend(); ++options) {
    Open open;
    open.all = *options;
    open_[0].push_back(std::move(open));
  }
  open_count_ = left.size();
}

std::vector<std::vector<std::uint32_t>> Search::left() {
  const std::lock_guard lock(mutex_);
  std::vector<std::vector<std::uint32_t>> all;
  for (const auto& [deviations, stack] : open_)
    for (auto open = stack.rbegin(); open != stack.rend(); ++open) all.push_back(open->options());
  return all;
}

bool Search::over_limits() const {
  return stopped_.load() || orders_ >= limits_.orders || std::chrono::steady_clock::now() >= limits_.deadline;
}

// False: the search is over. Waits while others may still leave something.
bool Search::take(Open& out) {
  std::unique_lock lock(mutex_);
  for (;;) {
    if (over_limits()) {
      limited_ |= open_count_ > 0 || busy_ > 0;
      changed_.notify_all();
      return false;
    }
    if (open_count_ > 0) break;
    if (busy_ == 0) return false;
    changed_.wait_for(lock, std::chrono::milliseconds(200));
  }
  const auto first = open_.begin();
  out = std::move(first->second.back());
  first->second.pop_back();
  if (first->second.empty()) open_.erase(first);
  --open_count_;
  ++busy_;
  return true;
}

void Search::leave_open(const Open& from, RunResult& result) {
  const std::size_t given = from.path ? from.length + 1 : from.all.size();
  // Did the program come to the same choices as before?
  for (std::size_t i = 0; from.path && i <= from.length && i < result.steps.size(); ++i) {
    if (result.steps[i].digest == (*from.path)[i].digest) continue;
    result.problems = {{Category::Unstable, {}, static_cast<std::int64_t>(i), "", false}};
    result.counts = true;
    return;
  }
  auto path = std::make_shared<const std::vector<Step>>(result.steps);
  std::size_t deviations = 0;
  for (std::size_t i = 0; i < given && i < path->size(); ++i) deviations += (*path)[i].deviates();
  for (std::size_t i = given; i < path->size(); ++i) {
    const Step& step = (*path)[i];
    const auto leave = [&](std::uint32_t option) {
      open_[nearest_first_ ? deviations + 1 : 0].push_back({path, i, option, {}});
      ++open_count_;
    };
    if (step.tried.empty())
      for (std::uint32_t option = step.options; option-- > 1;) leave(option);
    else
      for (std::size_t next = step.tried.size(); next-- > 1;) leave(step.tried[next]);
  }
}

void Search::work(const Play& play) {
  Open next;
  while (take(next)) {
    RunResult result = play(next.options());
    const std::lock_guard lock(mutex_);
    if (result.counts && orders_ >= limits_.orders) {  // another worker was faster
      limited_ = true;
      open_[0].push_back(std::move(next));
      ++open_count_;
    } else {
      leave_open(next, result);
      cut_off_ |= result.cut_off;
      if (!result.counts) ++discarded_;
      else visit_(++orders_, result);
    }
    --busy_;
    changed_.notify_all();
  }
}

Totals Search::totals() {
  const std::lock_guard lock(mutex_);
  return {orders_, discarded_, open_count_ + static_cast<std::size_t>(busy_), limited_, cut_off_};
}

}  // namespace reprise::explore
