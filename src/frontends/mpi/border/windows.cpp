#include "frontends/mpi/border/windows.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/mapped_memory.hpp"
#include "base/spin.hpp"
#include "engine/process_info.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/border/mirrors.hpp"
#include "frontends/mpi/border/window_table.hpp"
#include "frontends/mpi/border/world.hpp"

namespace reprise::mpi {

using engine::SeenMemory;
using engine::Session;
using engine::Touches;

Windows& windows() {
  static auto* const one = new Windows();  // never destroyed: see communicators.hpp
  return *one;
}

std::shared_ptr<BorderWindow> find_window(MPI_Win win) {
  const Spin spin(&windows().lock);
  const auto found = windows().all.find(handle_key(win));
  return found == windows().all.end() ? nullptr : found->second;
}

namespace {

constexpr std::size_t kMostRuns = 64;  // of one access that are told one by one

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
  const auto gather = [&](const void* from, void* into, int bytes) {
    return library_function<Allgather>(Function::Allgather)(from, bytes, handles().byte, into, bytes, handles().byte, comm);
  };
  if (gather(&mine, all.data(), sizeof mine) != MPI_SUCCESS) all.clear();
  char tells = 1;  // whom it can tell, it will
  for (const Introduction& one : all) {
    BorderWindow::Peer peer;
    peer.rank = one.rank;
    peer.number = one.number;
    peer.unit = one.unit;
    char name[64];
    queue_name(name, one.rank, one.number);
    if (one.listens && one.machine == mine.machine && dir >= 0)
      if (auto joined = Touches::join(dir, name)) peer.queue = std::move(*joined);
    if (one.listens && !peer.queue) tells = 0;
    window.peers.push_back(std::move(peer));
  }
  std::vector<char> all_tell(all.size());
  const bool heard = gather(&tells, all_tell.data(), 1) == MPI_SUCCESS && !all.empty();
  if (own) unlinkat(dir, own_name, 0);
  if (dir >= 0) close(dir);
  if (window.seen)
    window.seen->listen(std::move(own), heard && std::all_of(all_tell.begin(), all_tell.end(), [](char one) { return one != 0; }));
}

}  // namespace

bool follows_values() { return Session::get().solo() || Session::get().records_data(); }

namespace {

constexpr std::uint64_t kSymmetricMemory = UINT64_MAX;  // in place of a handle

void add_window(std::uint64_t handle, std::shared_ptr<BorderWindow> window) {
  const Spin spin(&windows().lock);
  windows().all[handle] = std::move(window);
  g_looks = follows_values();
}

}  // namespace

std::shared_ptr<BorderWindow> make_symmetric_memory() {
  auto window = std::make_shared<BorderWindow>();
  if (follows_values()) window->seen = std::make_unique<SeenMemory>(SeenMemory::Naming::Regions);
  if (!Session::get().solo()) introduce(*window, handles().comm_world, 1);
  add_window(kSymmetricMemory, window);
  return window;
}

void forget_symmetric_memory() {
  const Spin spin(&windows().lock);
  windows().all.erase(kSymmetricMemory);
}

void* window_made(MPI_Win win, MPI_Comm comm, const WindowMemory& memory, bool solo) {
  void* program = memory.program ? memory.program : memory.base;
  if (g_world_is_the_library) {
    not_solo("windows of an explored run");  // what is in them, the explorer knows
    return program;
  }
  auto window = std::make_shared<BorderWindow>();
  {
    const Spin spin(&windows().lock);
    window->number = ++windows().made;
  }
  const bool is_shared = memory.flavor == MPI_WIN_FLAVOR_SHARED;  // who calls this adds its memory
  window->by_address = memory.flavor == MPI_WIN_FLAVOR_DYNAMIC;
  window->is_allocated = memory.flavor == MPI_WIN_FLAVOR_ALLOCATE;
  window->base = memory.base;
  if (follows_values()) {
    window->seen = std::make_unique<SeenMemory>(window->by_address ? SeenMemory::Naming::Addresses : SeenMemory::Naming::Offsets);
    const auto size = static_cast<std::uint64_t>(memory.size > 0 ? memory.size : 0);
    if (!window->by_address && !is_shared) window->seen->add_region(memory.base, size);
    if (memory.flavor == MPI_WIN_FLAVOR_CREATE) window->programs_size = size;
    // What is in new memory is nobody's to say; in a replay it must be the same (OPR, section 7).
    if (window->is_allocated && size > 0) std::memset(memory.base, 0, size);
    if (memory.program) {
      window->real = memory.base;
      window->real_size = size;
    }
    // Not a dynamic one: the program tells others the addresses of its own memory. It is followed at synchronisations.
    if (follows_accesses() && !window->by_address && size > 0) {
      program = window->program_base = window->program_memory = follow_memory(
          *window, 0, memory.base, size, solo, 0, memory.program ? engine::Mirror::Copy::TheProgramHas : engine::Mirror::Copy::Made, memory.program);
    }
  }
  if (solo) {
    if (const virtual_world::Communicator* const members = known(comm)) window->members = members->local;
  } else {
    introduce(*window, comm, memory.unit);
  }
  add_window(handle_key(win), std::move(window));
  return program;
}

void* follow_memory(BorderWindow& window, std::uint32_t region, void* real, std::uint64_t size, bool solo, std::uint64_t origin,
                    engine::Mirror::Copy copy, void* program) {
  engine::Mirror* mirror = nullptr;
  if (!solo) {
    auto made = std::make_unique<engine::Mirror>(real, size, copy, program);
    if (!made->is_made()) {
      not_solo("there was no memory for a copy of a window");
      return program ? program : real;
    }
    mirror = made.get();
    window.mirrors.push_back(std::move(made));
    window.seen->mirror(region, mirror, origin);
  }
  void* const seen = mirror ? mirror->program() : real;
  follow_region(window, region, seen, size, mirror);
  return seen;
}

void forget_memory(BorderWindow& window, const void* program) {
  forget_region(program);
  std::erase_if(window.mirrors, [&](const auto& one) { return one->program() == program; });
}

void forget_lost_memory(BorderWindow& window) {
  if (window.programs_size == 0 || engine::mode() != engine::Mode::Record) return;
  if (is_mapped(window.program_base ? window.program_base : window.base, window.programs_size)) return;
  window.programs_size = 0;
  window.seen->remove_region(window.base);
  if (window.program_base) forget_memory(window, window.program_base);
}

BorderWindow::~BorderWindow() {
  forget_regions(*this);
  if (real) free_real_memory(real, real_size);
}

void window_goes(MPI_Win win) {
  const auto window = find_window(win);
  if (!window) return;
  publish_waiting();
  publish_unhooked(*window);
  if (window->is_allocated && window->seen) window->seen->remove_region(window->base);
  window->is_over = true;  // the last look comes when the call is over
}

void memory_attached(MPI_Win win, void* base, MPI_Aint size) {
  const auto window = find_window(win);
  if (!window || !window->seen) return;
  const Spin spin(&window->lock);
  window->seen->add_region(base, static_cast<std::uint64_t>(size));
}

void memory_detached(MPI_Win win, const void* base) {
  const auto window = find_window(win);
  if (!window || !window->seen) return;
  const Spin spin(&window->lock);
  window->seen->remove_region(base);
}

int group_of_window(MPI_Win win, MPI_Group* group) {
  const auto window = find_window(win);
  return give_group(window ? window->members : virtual_world::Group(), group);
}

int raise_again(MPI_Win win, int error) {
  if (error != MPI_SUCCESS) library_function<int (*)(MPI_Win, int)>(Function::Win_call_errhandler)(win, error);
  return error;
}

// --- accesses -------------------------------------------------------------------------------------------------------

std::uint32_t begin_access() {
  if (virtual_world::Companions* const others = companions()) others->enters(kAccesses, provider().rank());
  return windows().accesses.fetch_add(1, std::memory_order_relaxed) + 1;
}

void BorderWindow::tell(Peer& peer, std::uint32_t number, std::uint64_t begin, std::uint64_t size) {
  peer.told = number;
  const auto origin = static_cast<std::uint32_t>(Session::get().rank());
  if (size > 0 && !peer.queue->add({begin, size, origin, number})) peer.lost = true;
}

void BorderWindow::tell_completion(Peer& peer) {
  const auto origin = static_cast<std::uint32_t>(Session::get().rank());
  if (!peer.queue->add({0, 0, origin, peer.told}) || peer.lost) peer.queue->lose();
  peer.told = 0;
  peer.lost = false;
}

void BorderWindow::tell_fence() {
  ++fences;
  const auto origin = static_cast<std::uint32_t>(Session::get().rank());
  for (Peer& peer : peers)
    if (peer.told != 0 && !peer.queue->add({fences, 0, origin, peer.told})) peer.lost = true;
}

WindowAccess::WindowAccess(MPI_Win win, int target, MPI_Aint disp, MPI_Count count, MPI_Datatype type)
    : window_(find_window(win)), target_(target), disp_(disp), count_(count), type_(type), follows_values_(follows_values()) {
  operation_.at(win);
}

// Before the library knows of it.
void WindowAccess::tell() {
  const std::uint32_t number = begin_access();
  if (!writes_ || target_ < 0 || static_cast<std::size_t>(target_) >= window_->peers.size() || count_ <= 0) return;
  BorderWindow::Peer& peer = window_->peers[static_cast<std::size_t>(target_)];
  const std::int64_t event = static_cast<std::int64_t>(Session::get().recorder().events()) - 1;
  const std::int64_t start = disp_ * (window_->by_address ? 1 : peer.unit);
  operation_.goes_to({event, number, peer.rank, peer.number, start});
  if (!peer.queue) return;
  const auto layout = layout_of(type_);
  const Spin spin(&window_->lock);
  peer.told = number;
  const auto touches = [&](std::int64_t begin, std::uint64_t size) {
    BorderWindow::tell(peer, number, static_cast<std::uint64_t>(begin), size);
  };
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

int WindowAccess::logged(FunctionRef<int()> call) {
  if (!window_) return call();
  tell();
  if (!follows_values_) return call();
  Operation later = operation_.without_results();
  return pend(operation_.logged(MPI_STATUS_IGNORE, [&](MPI_Status*) { return call(); }), std::move(later));
}

int WindowAccess::logged_later(MPI_Request* request, FunctionRef<int()> call) {
  if (!window_) return call();
  tell();
  if (!follows_values_) return call();
  return pend_request(operation_.logged_later(request, false, call), request);
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
  begin_access();
  Operation later = operation_.without_results();
  const int rc = operation_.answer(MPI_STATUS_IGNORE);
  return window_ ? pend(rc, std::move(later)) : rc;
}

int WindowAccess::answer_later(MPI_Request* request) {
  begin_access();
  const int rc = operation_.answer_later(request, false);
  return window_ ? pend_request(rc, request) : rc;
}

// --- their completion -----------------------------------------------------------------------------------------------

namespace {

// To this window, by this rank: all that synchronise but for those that only wait for accesses to others.
bool makes_stores_visible(const BorderWindow& window, int target) {
  switch (t_state.function) {
    case Function::Win_flush:
    case Function::Win_flush_all:
    case Function::Win_flush_local:
    case Function::Win_flush_local_all:
    case Function::Win_lock:
    case Function::Win_lock_all:
    case Function::Win_start:
    case Function::Win_test: return false;
    case Function::Win_unlock: {
      const auto peer = static_cast<std::size_t>(target);
      return peer < window.peers.size() && window.peers[peer].rank == static_cast<std::int64_t>(Session::get().rank());
    }
    default: return true;
  }
}

}  // namespace

WindowCompletion::WindowCompletion(MPI_Win win, int target, Where where)
    : window_(find_window(win)), target_(target), where_(where), follows_values_(follows_values()) {
  operation_.at(win);
  if (!window_) return;
  const Spin spin(&window_->lock);
  if (!window_->mirrors.empty() && makes_stores_visible(*window_, target)) publish_unhooked(*window_);
  std::erase_if(window_->pending, [&](BorderWindow::Pending& one) {
    if (target_ != kEveryTarget && target_ != one.target) return false;
    if (one.request) requests_.push_back(std::move(one));
    else operation_.completes(one.operation);
    return true;
  });
}

bool WindowCompletion::is_fence() { return t_state.function == Function::Win_fence; }

int WindowCompletion::logged(FunctionRef<int()> call) {
  if (!window_) return call();
  if (is_fence()) {
    const Spin spin(&window_->lock);
    window_->tell_fence();
  }
  return tell(follows_values_ ? operation_.logged(MPI_STATUS_IGNORE, [&](MPI_Status*) { return call(); }) : call());
}

int WindowCompletion::tell(int rc) {
  if (rc != MPI_SUCCESS) return rc;
  MPI_Status empty{};
  show_empty_status(&empty);
  for (const BorderWindow::Pending& one : requests_)
    border_requests().completed(one.handle, one.request, MPI_SUCCESS, empty, false);
  if (where_ == Where::Here) return rc;
  const Spin spin(&window_->lock);
  for (std::size_t i = 0; i < window_->peers.size(); ++i) {
    BorderWindow::Peer& peer = window_->peers[i];
    if ((target_ == kEveryTarget || static_cast<std::size_t>(target_) == i) && peer.told != 0) BorderWindow::tell_completion(peer);
  }
  if (is_fence() && window_->seen) window_->seen->fence_ended();
  return rc;
}

int WindowCompletion::answer() {
  const int rc = operation_.answer(MPI_STATUS_IGNORE);
  for (const BorderWindow::Pending& one : requests_)
    if (one.request->active) border_requests().look_at(*one.request, MPI_STATUS_IGNORE);  // otherwise the program has waited for it
  return rc;
}

}  // namespace reprise::mpi
