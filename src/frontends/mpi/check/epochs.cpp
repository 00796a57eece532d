#include "frontends/mpi/check/epochs.hpp"

#include <map>
#include <optional>
#include <unordered_map>

#include "base/spin.hpp"

namespace reprise::mpi::check {
namespace {

struct Epochs {
  int members = -1;
  // A fence opens an epoch if something is done in it; until then it may be followed by anything.
  bool fenced = false;
  std::optional<Where> used;  // in that epoch
  std::optional<Where> started;
  std::optional<Where> posted;
  std::optional<Where> locked_all;
  std::map<int, Where> locked;

  // The one in which this rank accesses others.
  std::optional<Where> access_epoch() const {
    if (locked_all) return locked_all;
    if (!locked.empty()) return locked.begin()->second;
    if (started) return started;
    return used;
  }
};

std::atomic_flag g_lock;
std::unordered_map<std::uint64_t, Epochs>& all() {
  static auto* const known = new std::unordered_map<std::uint64_t, Epochs>();
  return *known;
}

// A window that was not seen made is left alone.
template <class Look>
void look(MPI_Win win, Look look) {
  const Spin spin(&g_lock);
  if (const auto found = all().find(handle_key(win)); found != all().end()) look(found->second);
}

void overlap(const char* words, const Where& other) { report(Category::NestedEpochs, here(), words, other); }
void is_outside(const char* words) { report(Category::OutsideEpoch, here(), words); }

void report_open(const Epochs& epochs) {
  std::optional<Where> open = epochs.access_epoch();
  if (!open) open = epochs.posted;
  if (open) report(Category::OpenEpoch, *open, "never closed");
}

}  // namespace

int window_size(MPI_Win win) {
  int size = -1;
  look(win, [&](const Epochs& epochs) { size = epochs.members; });
  return size;
}

void report_open_epochs() {
  const Spin spin(&g_lock);
  for (const auto& [key, epochs] : all()) report_open(epochs);
}

namespace epochs {

void made(MPI_Win win, int members) {
  const Spin spin(&g_lock);
  all()[handle_key(win)] = Epochs{};
  all()[handle_key(win)].members = members;
}

void freed(MPI_Win win) {
  look(win, [](const Epochs& epochs) { report_open(epochs); });
  const Spin spin(&g_lock);
  all().erase(handle_key(win));
}

void fence(MPI_Win win, int assertion) {
  look(win, [&](Epochs& epochs) {
    epochs.used.reset();
    if (const auto other = epochs.access_epoch()) overlap("a fence inside another epoch", *other);
    else if (epochs.posted) overlap("a fence while the window is posted", *epochs.posted);
    epochs.fenced = !(assertion & MPI_MODE_NOSUCCEED);
  });
}

void start(MPI_Win win) {
  look(win, [](Epochs& epochs) {
    if (const auto other = epochs.access_epoch()) overlap("MPI_Win_start inside another epoch", *other);
    epochs.fenced = false;
    epochs.started = here();
  });
}

void complete(MPI_Win win) {
  look(win, [](Epochs& epochs) {
    if (!epochs.started) is_outside("MPI_Win_complete without MPI_Win_start");
    epochs.started.reset();
  });
}

void post(MPI_Win win) {
  look(win, [](Epochs& epochs) {
    if (epochs.posted) overlap("the window is already posted", *epochs.posted);
    epochs.fenced = false;
    epochs.posted = here();
  });
}

void wait(MPI_Win win) {
  look(win, [](Epochs& epochs) {
    if (!epochs.posted) is_outside("MPI_Win_wait without MPI_Win_post");
    epochs.posted.reset();
  });
}

void test(MPI_Win win) {
  look(win, [](const Epochs& epochs) {
    if (!epochs.posted) is_outside("MPI_Win_test without MPI_Win_post");
  });
}

void tested(MPI_Win win) {
  look(win, [](Epochs& epochs) { epochs.posted.reset(); });
}

void lock(MPI_Win win, int target) {
  look(win, [&](Epochs& epochs) {
    if (const auto same = epochs.locked.find(target); same != epochs.locked.end())
      overlap("this target is already locked", same->second);
    else if (epochs.locked_all) overlap("all targets are already locked", *epochs.locked_all);
    else if (epochs.started) overlap("MPI_Win_lock inside another epoch", *epochs.started);
    else if (epochs.used) overlap("MPI_Win_lock inside an epoch of fences", *epochs.used);
    epochs.fenced = false;
    epochs.locked[target] = here();
  });
}

void lock_all(MPI_Win win) {
  look(win, [](Epochs& epochs) {
    if (const auto other = epochs.access_epoch()) overlap("MPI_Win_lock_all inside another epoch", *other);
    epochs.fenced = false;
    epochs.locked_all = here();
  });
}

void unlock(MPI_Win win, int target) {
  look(win, [&](Epochs& epochs) {
    if (epochs.locked.erase(target) == 0) is_outside("MPI_Win_unlock without MPI_Win_lock");
  });
}

void unlock_all(MPI_Win win) {
  look(win, [](Epochs& epochs) {
    if (!epochs.locked_all) is_outside("MPI_Win_unlock_all without MPI_Win_lock_all");
    epochs.locked_all.reset();
  });
}

void flush(MPI_Win win, int target) {
  look(win, [&](const Epochs& epochs) {
    if (target != MPI_PROC_NULL && !epochs.locked_all && !epochs.locked.contains(target))
      is_outside("the target is not locked");
  });
}

void flush_all(MPI_Win win) {
  look(win, [](const Epochs& epochs) {
    if (!epochs.locked_all && epochs.locked.empty()) is_outside("nothing is locked");
  });
}

void accessed(MPI_Win win, int target) {
  look(win, [&](Epochs& epochs) {
    if (target == MPI_PROC_NULL || epochs.locked_all || epochs.started || epochs.locked.contains(target)) return;
    if (!epochs.fenced) is_outside("no epoch allows this access");
    else if (!epochs.used) epochs.used = here();
  });
}

}  // namespace epochs
}  // namespace reprise::mpi::check
