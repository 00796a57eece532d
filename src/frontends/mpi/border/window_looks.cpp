// What this rank sees of its windows, before and after each call.
#include <algorithm>
#include <iterator>
#include <utility>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/between_calls.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/border/window_table.hpp"

namespace reprise::mpi {

using engine::SeenMemory;
using engine::Session;

namespace {

// Counts the calls that could show something, so that a replay shows it in the same one.
thread_local std::int64_t t_looks __attribute__((tls_model("initial-exec"))) = 0;
thread_local bool t_accessing __attribute__((tls_model("initial-exec"))) = false;  // the last call was an access

// The program may have read it before its next call, as one does that loads a variable again and again, with MPI_Win_sync in
// between: between the look at the end of one call and the next call something has come.
constexpr std::int64_t kMaybeSeen = 1;

void log_look(BorderWindow& window, std::int64_t certainty = 0) {
  const Spin spin(&window.lock);
  if (!window.seen->may_have_changed()) return;
  forget_lost_memory(window);
  const SeenMemory::Look look = window.seen->look();
  if (window.seen->take_missed())
    not_solo("so many accesses between two calls, or from another machine, that those to static data could not be told");
  add_look(engine::DataKind::Seen, window, look, certainty);
}

void show_look(const engine::DataEntry& entry, const std::vector<std::shared_ptr<BorderWindow>>& all) {
  Session& session = Session::get();
  const auto window = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one->number == entry.field(1); });
  std::vector<SeenMemory::Accessed> accesses;
  if (window == all.end() || entry.parts.size() != 3 || !SeenMemory::read_touches(*entry.parts[2], accesses))
    session.supervisor().trouble("what the trace says about a window does not fit");
  if (virtual_world::Companions* const others = companions())
    for (const SeenMemory::Accessed& one : accesses) others->awaits(kAccesses, static_cast<int>(one.rank), one.number);
  const Spin spin(&(*window)->lock);
  if (!(*window)->seen->show(*entry.parts[0], *entry.parts[1]))
    session.supervisor().trouble("window " + std::to_string(entry.field(1)) + " is not as large as in the recorded run");
}

bool is_access(Function function) {
  switch (function) {
    case Function::Put:
    case Function::Get:
    case Function::Accumulate:
    case Function::Get_accumulate:
    case Function::Fetch_and_op:
    case Function::Compare_and_swap:
    case Function::Rput:
    case Function::Rget:
    case Function::Raccumulate:
    case Function::Rget_accumulate:
    case Function::Put_c:
    case Function::Get_c:
    case Function::Accumulate_c:
    case Function::Get_accumulate_c:
    case Function::Rput_c:
    case Function::Rget_c:
    case Function::Raccumulate_c:
    case Function::Rget_accumulate_c: return true;
    default: return false;
  }
}

std::vector<std::shared_ptr<BorderWindow>> seen_windows() {
  std::vector<std::shared_ptr<BorderWindow>> all;
  const Spin spin(&windows().lock);
  for (const auto& [handle, window] : windows().all)
    if (window->seen) all.push_back(window);
  return all;
}

// Nearly always there is nothing, and nothing is to be allocated for that.
bool anything_new() {
  const Spin spin(&windows().lock);
  return std::any_of(windows().all.begin(), windows().all.end(), [](const auto& one) {
    const Spin of_window(&one.second->lock);
    return one.second->seen && one.second->seen->may_have_changed();
  });
}

thread_local std::vector<engine::DataEntry> t_late;  // replaying: what is shown before the next call
thread_local bool t_shown_before = false;            // and before this one something was

thread_local BetweenCalls t_between;

void show_looks() {
  std::vector<engine::DataEntry> all;
  for (engine::DataEntry entry; Session::get().values().seen(t_looks, entry);) all.push_back(std::move(entry));
  t_between.passed(!std::exchange(t_shown_before, false) && all.empty());
  const auto is_certain = [](const engine::DataEntry& entry) { return entry.field(3) != kMaybeSeen; };
  const auto maybe = std::stable_partition(all.begin(), all.end(), is_certain);
  for (auto entry = all.begin(); entry != maybe; ++entry) show_look(*entry, seen_windows());
  if (maybe == all.end()) return;
  if (t_between.was_read()) {
    for (auto entry = maybe; entry != all.end(); ++entry) show_look(*entry, seen_windows());
  } else {
    t_late.assign(std::make_move_iterator(maybe), std::make_move_iterator(all.end()));
  }
}

}  // namespace

void look_before_call() {
  publish_waiting();
  count_no_loads();
  if (engine::mode() == Mode::Record && anything_new()) {
    // The program sees of a mirror what its loads have found.
    for (const auto& window : seen_windows())
      if (window->mirrors.empty()) log_look(*window, kMaybeSeen);
  } else if (!t_late.empty()) {
    const auto all = seen_windows();
    for (const engine::DataEntry& entry : t_late) show_look(entry, all);
    t_late.clear();
    t_shown_before = true;
  }
}

// The first of several: what the program read before may be why it makes them.
void look_before_access() {
  publish_waiting();
  count_no_loads();
  if (!t_accessing) look_before_call();
}

void look_at_windows() {
  publish_waiting();  // of a call that has not looked before
  ++t_looks;
  t_accessing = false;
  if (engine::mode() == Mode::Record && anything_new()) {
    for (const auto& window : seen_windows()) log_look(*window);
  } else if (engine::mode() == Mode::Replay) {
    show_looks();
  }
  if (Session::get().configuration().access) count_loads_anew();
}

void pass_look() {
  ++t_looks;
  t_accessing = true;
  if (engine::mode() == Mode::Replay) show_looks();
  if (Session::get().configuration().access) count_loads_anew();
}

void add_look(engine::DataKind kind, const BorderWindow& window, const SeenMemory::Look& look, std::int64_t last_field) {
  if (!look.any()) return;
  Session& session = Session::get();
  const auto event = static_cast<std::int64_t>(session.recorder().events()) - 1;
  const std::int64_t fields[] = {t_looks, window.number, event, last_field};
  const std::uint64_t parts[] = {look.ranges.size(), look.bytes.size(), look.touches.size()};
  const engine::DataRun runs[] = {{look.ranges.data(), look.ranges.size()},
                                  {look.bytes.data(), look.bytes.size()},
                                  {look.touches.data(), look.touches.size()}};
  session.data().add(kind, fields, parts, runs);
}

std::int64_t looks_so_far() { return t_looks; }

void take_late_looks() {
  for (engine::DataEntry entry; Session::get().values().seen(t_looks, entry);) t_late.push_back(std::move(entry));
}

void show_look(const engine::DataEntry& entry) { show_look(entry, seen_windows()); }

namespace {

// Large ones only where MPI asks programs to synchronise: comparing them takes time.
constexpr std::uint64_t kSmall = 64u << 10;

void publish_before(Function function) {
  const bool all = function == Function::Barrier || function == Function::Ibarrier;
  for (const auto& window : seen_windows()) {
    const Spin spin(&window->lock);
    forget_lost_memory(*window);
    for (const auto& mirror : window->mirrors)
      if (all || mirror->size() <= kSmall) mirror->publish_unhooked();
  }
}

}  // namespace

void look_before_call(Function function) {
  if (Session::get().configuration().access && engine::mode() == Mode::Record && !is_access(function)) publish_before(function);
  is_access(function) ? look_before_access() : look_before_call();
}

// An access shows nothing yet.
void look_at_windows(Function function) {
  if (is_access(function)) return pass_look();
  look_at_windows();
  if (function != Function::Win_free) return;
  const Spin spin(&windows().lock);
  for (const auto& [handle, window] : windows().all)
    if (window->is_over && window->seen) windows().shadows += window->seen->shadow_bytes();
  std::erase_if(windows().all, [](const auto& one) { return one.second->is_over; });
}

std::uint64_t bytes_of_shadows() {
  const Spin spin(&windows().lock);
  std::uint64_t all = windows().shadows;
  for (const auto& [handle, window] : windows().all)
    if (window->seen) all += window->seen->shadow_bytes();
  return all;
}

}  // namespace reprise::mpi
