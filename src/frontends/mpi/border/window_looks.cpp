// What this rank sees of its windows, before and after each call.
#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/spin.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/window_table.hpp"

namespace reprise::mpi {

using engine::SeenMemory;
using engine::Session;

namespace {

// Counts the calls that could show something, so that a replay shows it in the same one.
thread_local std::int64_t t_looks __attribute__((tls_model("initial-exec"))) = 0;

// The program may have read it before its next call, as one does that loads a variable again and again, with MPI_Win_sync in
// between: between the look at the end of one call and the next call something has come.
constexpr std::int64_t kMaybeSeen = 1;

void log_look(BorderWindow& window, std::int64_t certainty = 0) {
  const Spin spin(&window.lock);
  if (!window.seen->may_have_changed()) return;
  const SeenMemory::Look look = window.seen->look();
  if (window.seen->take_missed())
    not_solo("so many accesses between two calls, or from another machine, that those to static data could not be told");
  if (!look.any()) return;
  Session& session = Session::get();
  const auto event = static_cast<std::int64_t>(session.recorder().events()) - 1;
  const std::int64_t fields[] = {t_looks, window.number, event, certainty};
  const std::uint64_t parts[] = {look.ranges.size(), look.bytes.size(), look.touches.size()};
  const engine::DataRun runs[] = {{look.ranges.data(), look.ranges.size()},
                                  {look.bytes.data(), look.bytes.size()},
                                  {look.touches.data(), look.touches.size()}};
  session.data().add(engine::DataKind::Seen, fields, parts, runs);
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

// Whether the program has seen it shows in what it did next: after two calls as these, something that it never did where
// nothing was new. If these calls are new as well, it has not: a valid program reads only what a synchronisation has shown.
class NextCalls {
 public:
  // After each look. True: the program did something new next.
  bool look(bool nothing_new) {
    engine::Replayer& log = Session::get().replayer();
    const std::uint64_t here = log.last_site();
    std::vector<std::uint32_t>& usual = usual_[before_ << 32 | here];
    before_ = here;
    const std::uint32_t next = log.next_site();
    const bool known = std::find(usual.begin(), usual.end(), next) != usual.end();
    if (nothing_new && !known) usual.push_back(next);
    return !known && !usual.empty();
  }

 private:
  std::uint64_t before_ = engine::kNoSite;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> usual_;
};
thread_local NextCalls t_next_calls;

void show_looks() {
  std::vector<engine::DataEntry> all;
  for (engine::DataEntry entry; Session::get().values().seen(t_looks, entry);) all.push_back(std::move(entry));
  const bool something_else = t_next_calls.look(!std::exchange(t_shown_before, false) && all.empty());
  for (engine::DataEntry& entry : all) {
    if (entry.field(3) != kMaybeSeen || something_else) show_look(entry, seen_windows());
    else t_late.push_back(std::move(entry));
  }
}

}  // namespace

void look_before_call() {
  if (engine::mode() == Mode::Record && anything_new()) {
    for (const auto& window : seen_windows()) log_look(*window, kMaybeSeen);
  } else if (!t_late.empty()) {
    const auto all = seen_windows();
    for (const engine::DataEntry& entry : t_late) show_look(entry, all);
    t_late.clear();
    t_shown_before = true;
  }
}

void look_at_windows() {
  ++t_looks;
  if (engine::mode() == Mode::Record && anything_new()) {
    for (const auto& window : seen_windows()) log_look(*window);
  } else if (engine::mode() == Mode::Replay) {
    show_looks();
  }
}

void pass_look() {
  ++t_looks;
  if (engine::mode() == Mode::Replay) show_looks();
}

void look_before_call(Function function) {
  if (!is_access(function)) look_before_call();
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
