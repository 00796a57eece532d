#include "frontends/mpi/border/windows.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/spin.hpp"
#include "engine/process_info.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/world.hpp"

namespace reprise::mpi {

using engine::SeenMemory;
using engine::Session;
using engine::Touches;

namespace {

constexpr std::size_t kMostRuns = 64;  // of one access that are told one by one

struct Windows {
  std::atomic_flag lock;
  std::map<std::uint64_t, std::shared_ptr<BorderWindow>> all;
  std::int64_t made = 0;
  std::atomic<std::uint32_t> accesses{0};  // of this rank, to whatever window
};
Windows& windows() {
  static auto* const one = new Windows();  // never destroyed: see communicators.hpp
  return *one;
}

std::shared_ptr<BorderWindow> find(MPI_Win win) {
  const Spin spin(&windows().lock);
  const auto found = windows().all.find(handle_key(win));
  return found == windows().all.end() ? nullptr : found->second;
}

bool follows_values() { return Session::get().solo() || Session::get().records_data(); }

// --- who listens ----------------------------------------------------------------------------------------------------

// What the members of a new window tell each other.
struct Introduction {
  std::uint64_t machine = 0;
  std::int64_t number = 0;
  std::int64_t unit = 1;
  std::int64_t rank = 0;     // in MPI_COMM_WORLD
  std::int64_t listens = 0;  // it wants to know what is done to its window, and there is a queue
};

void queue_name(char (&name)[64], std::int64_t rank, std::int64_t window) {
  std::snprintf(name, sizeof name, "rank-%lld.window-%lld", static_cast<long long>(rank), static_cast<long long>(window));
}

// Collective, as the call that makes the window is. Afterwards the files have no names any more.
void introduce(BorderWindow& window, MPI_Comm comm, std::int64_t unit) {
  Session& session = Session::get();
  const int dir = open(session.configuration().directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  char own_name[64];
  queue_name(own_name, session.rank(), window.number);
  std::unique_ptr<Touches> own;
  if (window.seen && dir >= 0)
    if (auto made = Touches::make(dir, own_name)) own = std::move(*made);
  const Introduction mine{engine::machine_identity(), window.number, unit, session.rank(), own ? 1 : 0};
  std::vector<Introduction> all(static_cast<std::size_t>(blocks_in(comm)));
  using Allgather = int (*)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
  const OwnLook look;
  const int rc = library_function<Allgather>(Function::Allgather)(&mine, sizeof mine, handles().byte, all.data(), sizeof mine,
                                                                  handles().byte, comm);
  if (rc != MPI_SUCCESS) all.clear();
  bool all_tell = rc == MPI_SUCCESS;
  for (const Introduction& one : all) {
    BorderWindow::Peer peer;
    peer.rank = one.rank;
    peer.number = one.number;
    peer.unit = one.unit;
    all_tell &= one.machine == mine.machine;
    char name[64];
    queue_name(name, one.rank, one.number);
    if (one.listens && one.machine == mine.machine && dir >= 0)
      if (auto joined = Touches::join(dir, name)) peer.queue = std::move(*joined);
    window.peers.push_back(std::move(peer));
  }
  library_function<int (*)(MPI_Comm)>(Function::Barrier)(comm);
  if (own) unlinkat(dir, own_name, 0);
  if (dir >= 0) close(dir);
  if (window.seen) window.seen->listen(std::move(own), all_tell);
}

}  // namespace

int window_made(int rc, MPI_Win win, MPI_Comm comm, const WindowMemory& memory, bool solo) {
  if (rc != MPI_SUCCESS) return rc;
  if (g_world_is_the_library) {
    not_solo("windows of an explored run");  // what is in them, the explorer knows
    return rc;
  }
  auto window = std::make_shared<BorderWindow>();
  {
    const Spin spin(&windows().lock);
    window->number = ++windows().made;
  }
  window->by_address = memory.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  window->is_allocated = memory.flavor == MPI_WIN_FLAVOR_ALLOCATE;
  window->base = memory.base;
  if (follows_values()) {
    window->seen = std::make_unique<SeenMemory>(window->by_address);
    const auto size = static_cast<std::uint64_t>(memory.size > 0 ? memory.size : 0);
    if (!window->by_address) window->seen->add_region(memory.base, size);
    // What is in new memory is nobody's to say; in a replay it must be the same (OPR, section 7).
    if (window->is_allocated && size > 0) std::memset(memory.base, 0, size);
  }
  if (solo) {
    if (const virtual_world::Communicator* const members = known(comm)) window->members = members->local;
  } else {
    introduce(*window, comm, memory.unit);
  }
  const Spin spin(&windows().lock);
  windows().all[handle_key(win)] = std::move(window);
  g_looks = follows_values();
  return MPI_SUCCESS;
}

void window_goes(MPI_Win win) {
  const auto window = find(win);
  if (!window) return;
  if (window->is_allocated && window->seen) window->seen->remove_region(window->base);
  window->is_over = true;  // the last look comes when the call is over
}

void memory_attached(MPI_Win win, void* base, MPI_Aint size) {
  const auto window = find(win);
  if (!window || !window->seen) return;
  const Spin spin(&window->lock);
  window->seen->add_region(base, static_cast<std::uint64_t>(size));
}

void memory_detached(MPI_Win win, const void* base) {
  const auto window = find(win);
  if (!window || !window->seen) return;
  const Spin spin(&window->lock);
  window->seen->remove_region(base);
}

int group_of_window(MPI_Win win, MPI_Group* group) {
  const auto window = find(win);
  return give_group(window ? window->members : virtual_world::Group(), group);
}

int raise_again(MPI_Win win, int error) {
  if (error != MPI_SUCCESS) library_function<int (*)(MPI_Win, int)>(Function::Win_call_errhandler)(win, error);
  return error;
}

// --- what is seen ---------------------------------------------------------------------------------------------------

namespace {

// Counts the calls that could show something, so that a replay shows it in the same one.
thread_local std::int64_t t_looks __attribute__((tls_model("initial-exec"))) = 0;
// What ranks that are replayed together count accesses with (Companions).
constexpr std::uint64_t kAccesses = UINT64_MAX;

void log_look(BorderWindow& window) {
  const Spin spin(&window.lock);
  if (!window.seen->may_have_changed()) return;
  const SeenMemory::Look look = window.seen->look();
  if (!look.any()) return;
  Session& session = Session::get();
  const auto event = static_cast<std::int64_t>(session.recorder().events()) - 1;
  const std::int64_t fields[] = {t_looks, window.number, event};
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

// Accesses show nothing yet.
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

}  // namespace

namespace {

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

}  // namespace

void look_at_windows(Function function) {
  if (is_access(function)) return;
  ++t_looks;
  if (engine::mode() == Mode::Record && anything_new()) {
    for (const auto& window : seen_windows()) log_look(*window);
  } else if (engine::mode() == Mode::Replay) {
    engine::DataEntry entry;
    while (Session::get().values().seen(t_looks, entry)) show_look(entry, seen_windows());
  }
  if (function != Function::Win_free) return;
  const Spin spin(&windows().lock);
  std::erase_if(windows().all, [](const auto& one) { return one.second->is_over; });
}

// --- accesses -------------------------------------------------------------------------------------------------------

WindowAccess::WindowAccess(MPI_Win win, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type)
    : window_(find(win)), target_(target), disp_(disp), count_(count), type_(type), follows_values_(follows_values()) {
  operation_.at(win);
}

// Before the library knows of it.
void WindowAccess::tell() {
  if (!writes_ || target_ < 0 || static_cast<std::size_t>(target_) >= window_->peers.size() || count_ <= 0) {
    windows().accesses.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::uint32_t number = windows().accesses.fetch_add(1, std::memory_order_relaxed) + 1;
  BorderWindow::Peer& peer = window_->peers[static_cast<std::size_t>(target_)];
  const std::int64_t event = static_cast<std::int64_t>(Session::get().recorder().events()) - 1;
  operation_.goes_to({event, number, peer.rank, peer.number, disp_ * (window_->by_address ? 1 : peer.unit)});
  if (!peer.queue) return;
  const auto layout = layout_of(type_);
  const auto origin = static_cast<std::uint32_t>(Session::get().rank());
  const Spin spin(&window_->lock);
  peer.told = number;
  const auto touches = [&](std::int64_t begin, std::uint64_t size) {
    if (size > 0 && !peer.queue->add({static_cast<std::uint64_t>(begin), size, origin, number})) peer.lost = true;
  };
  const std::int64_t start = disp_ * (window_->by_address ? 1 : peer.unit);
  const auto elements = static_cast<std::uint64_t>(count_);
  if (layout->solid) return touches(start, elements * layout->size);
  if (!layout->known) {
    peer.queue->lose();
    peer.lost = true;
    return;
  }
  if (layout->runs.empty()) return;
  if (elements * layout->runs.size() <= kMostRuns) {
    for (std::uint64_t i = 0; i < elements; ++i)
      for (const Layout::Run& run : layout->runs)
        touches(start + static_cast<std::int64_t>(i) * layout->extent + run.offset, run.size);
    return;
  }
  std::int64_t low = INT64_MAX, high = INT64_MIN;
  for (const std::uint64_t i : {std::uint64_t{0}, elements - 1})
    for (const Layout::Run& run : layout->runs) {
      const std::int64_t begin = start + static_cast<std::int64_t>(i) * layout->extent + run.offset;
      low = std::min(low, begin);
      high = std::max(high, begin + static_cast<std::int64_t>(run.size));
    }
  touches(low, static_cast<std::uint64_t>(high - low));
}

int WindowAccess::pend(int rc, Operation later) {
  if (rc != MPI_SUCCESS || !later.brings()) return rc;
  const Spin spin(&window_->lock);
  window_->pending.push_back({target_, std::move(later), nullptr, {}});
  return rc;
}

int WindowAccess::pend_request(int rc, const MPI_Request* request) {
  if (rc != MPI_SUCCESS) return rc;
  auto known = border_requests().find(*request);
  if (!known || !known->operation.brings()) return rc;
  const Spin spin(&window_->lock);
  window_->pending.push_back({target_, Operation(), std::move(known), *request});
  return rc;
}

int WindowAccess::answer() {
  if (virtual_world::Companions* const others = companions()) others->enters(kAccesses, provider().rank());
  Operation later = operation_.without_results();
  const int rc = operation_.answer(MPI_STATUS_IGNORE);
  return window_ ? pend(rc, std::move(later)) : rc;
}

int WindowAccess::answer_later(MPI_Request* request) {
  if (virtual_world::Companions* const others = companions()) others->enters(kAccesses, provider().rank());
  const int rc = operation_.answer_later(request, false);
  return window_ ? pend_request(rc, request) : rc;
}

// --- their completion -----------------------------------------------------------------------------------------------

WindowCompletion::WindowCompletion(MPI_Win win, int target, Where where)
    : window_(find(win)), target_(target), where_(where), follows_values_(follows_values()) {
  operation_.at(win);
  if (!window_) return;
  const Spin spin(&window_->lock);
  std::erase_if(window_->pending, [&](BorderWindow::Pending& one) {
    if (target_ != kEveryTarget && target_ != one.target) return false;
    if (one.request) requests_.push_back(std::move(one));
    else operation_.completes(one.operation);
    return true;
  });
}

int WindowCompletion::tell(int rc) {
  if (rc != MPI_SUCCESS) return rc;
  MPI_Status empty{};
  show_empty_status(&empty);
  for (const BorderWindow::Pending& one : requests_)
    border_requests().completed(one.handle, one.request, MPI_SUCCESS, empty, false);
  if (where_ == Where::Here) return rc;
  const auto origin = static_cast<std::uint32_t>(Session::get().rank());
  const Spin spin(&window_->lock);
  for (std::size_t i = 0; i < window_->peers.size(); ++i) {
    BorderWindow::Peer& peer = window_->peers[i];
    if ((target_ != kEveryTarget && static_cast<std::size_t>(target_) != i) || peer.told == 0) continue;
    if (!peer.queue->add({0, 0, origin, peer.told}) || peer.lost) peer.queue->lose();
    peer.told = 0;
    peer.lost = false;
  }
  return rc;
}

int WindowCompletion::answer() {
  const int rc = operation_.answer(MPI_STATUS_IGNORE);
  for (const BorderWindow::Pending& one : requests_)
    if (one.request->active) border_requests().look_at(*one.request, MPI_STATUS_IGNORE);  // otherwise the program has waited for it
  return rc;
}

}  // namespace reprise::mpi
