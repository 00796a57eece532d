#include "frontends/mpi/border/requests.hpp"

#include "base/spin.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/posts.hpp"

namespace reprise::mpi {

using virtual_world::Outcome;

BorderRequests& border_requests() {
  static auto* const all = new BorderRequests();
  return *all;
}

std::shared_ptr<BorderRequests::Request> BorderRequests::find(MPI_Request handle) {
  if (!any()) return nullptr;
  const Spin spin(&lock_);
  const auto found = all_.find(handle_key(handle));
  return found == all_.end() ? nullptr : found->second;
}

// Libraries give the same handle to all operations that were complete when they were posted (a collective of one
// process, a receive from MPI_PROC_NULL). Whatever the earlier one brought is there. (If another thread has posted that
// one, it is just completing it, and the library has given us its handle meanwhile.)
void BorderRequests::settle_namesake(MPI_Request handle) {
  const auto earlier = find(handle);
  if (!earlier || !earlier->active || earlier->seen || earlier->poster != &t_state || !earlier->operation.brings())
    return;
  MPI_Status status{};
  int flag = 0;
  const OwnLook look;
  using Ask = int (*)(MPI_Request, int*, MPI_Status*);
  if (library_function<Ask>(Function::Request_get_status)(handle, &flag, &status) == MPI_SUCCESS && flag)
    earlier->operation.log_completion(earlier->post, MPI_SUCCESS, status);
  earlier->seen = true;
}

void BorderRequests::add(MPI_Request handle, Operation operation, bool persistent) {
  if (engine::mode() == engine::Mode::Record) settle_namesake(handle);
  auto request = std::make_shared<Request>(
      Request{std::move(operation), g_posts.next(), persistent, !persistent, false, &t_state, std::nullopt});
  const Spin spin(&lock_);
  all_[handle_key(handle)] = std::move(request);
  count_.store(all_.size(), std::memory_order_relaxed);
}

void BorderRequests::remove(MPI_Request handle, const std::shared_ptr<Request>& request) {
  const Spin spin(&lock_);
  const auto found = all_.find(handle_key(handle));
  if (found == all_.end() || found->second != request) return;
  all_.erase(found);
  count_.store(all_.size(), std::memory_order_relaxed);
}

void BorderRequests::started(MPI_Request handle, std::uint64_t index) {
  const auto request = find(handle);
  if (!request) return;
  request->post = g_posts.next() + index;
  request->active = true;
  request->seen = false;
  request->outcome.reset();
  if (engine::mode() == engine::Mode::Record) request->operation.log_sent();
  else request->operation.begins(request->post);
}

void BorderRequests::replaced(MPI_Request before, MPI_Request after) {
  const auto request = find(before);
  if (!request) return;
  settle_namesake(after);
  const Spin spin(&lock_);
  all_.erase(handle_key(before));
  all_[handle_key(after)] = request;
  count_.store(all_.size(), std::memory_order_relaxed);
}

void BorderRequests::completed(MPI_Request handle, const std::shared_ptr<Request>& request, int error,
                               const MPI_Status& status, bool gone) {
  if (!request || !request->active) return;
  if (gone) look_at_kept();
  if (!request->seen && request->operation.brings()) request->operation.log_completion(request->post, error, status);
  request->seen = true;
  if (!gone) return;
  request->active = false;
  if (!request->persistent) remove(handle, request);
}

// The program has given it back, but its message may still come, and must be logged when it does.
bool BorderRequests::keep(MPI_Request handle) {
  const auto request = find(handle);
  if (!request || !request->active || request->seen || !request->operation.brings()) {
    remove(handle, request);
    return false;
  }
  const Spin spin(&lock_);
  kept_.push_back(handle);
  any_kept_.store(true, std::memory_order_relaxed);
  return true;
}

void BorderRequests::look_at_kept() {
  if (!any_kept_.exchange(false, std::memory_order_relaxed)) return;
  std::vector<MPI_Request> looked_at;
  {
    const Spin spin(&lock_);
    looked_at.swap(kept_);
  }
  std::vector<MPI_Request> pending;
  for (MPI_Request handle : looked_at) {
    MPI_Status status{};
    int flag = 0;
    const OwnLook look;
    using Ask = int (*)(MPI_Request, int*, MPI_Status*);
    const int rc = library_function<Ask>(Function::Request_get_status)(handle, &flag, &status);
    if (rc == MPI_SUCCESS && !flag) {
      pending.push_back(handle);
      continue;
    }
    const auto request = find(handle);
    if (rc == MPI_SUCCESS) completed(handle, request, MPI_SUCCESS, status, false);
    remove(handle, request);
    library_function<int (*)(MPI_Request*)>(Function::Request_free)(&handle);
  }
  if (pending.empty()) return;
  const Spin spin(&lock_);
  kept_.insert(kept_.end(), pending.begin(), pending.end());
  any_kept_.store(true, std::memory_order_relaxed);
}

void BorderRequests::give_back_kept() {
  look_at_kept();
  for (MPI_Request& handle : kept_) library_function<int (*)(MPI_Request*)>(Function::Request_free)(&handle);
  kept_.clear();
}

namespace {

int no_status(void*, MPI_Status* status) {
  show_empty_status(status);
  return MPI_SUCCESS;
}
int nothing_to_free(void*) { return MPI_SUCCESS; }
int nothing_to_cancel(void*, int) { return MPI_SUCCESS; }

}  // namespace

int make_carrier(bool persistent, MPI_Request* handle) {
  if (persistent) {
    using Init = int (*)(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
    return singleton_function<Init>(Function::Recv_init)(nullptr, 0, handles().byte, 0, 0, own_communicator(), handle);
  }
  using Query = int (*)(void*, MPI_Status*);
  using Free = int (*)(void*);
  using Cancel = int (*)(void*, int);
  using Start = int (*)(Query, Free, Cancel, void*, MPI_Request*);
  return singleton_function<Start>(Function::Grequest_start)(no_status, nothing_to_free, nothing_to_cancel, nullptr,
                                                           handle);
}

void end_carrier(bool persistent, MPI_Request* handle) {
  if (persistent) {
    singleton_function<int (*)(MPI_Request*)>(Function::Request_free)(handle);
    return;
  }
  singleton_function<int (*)(MPI_Request)>(Function::Grequest_complete)(*handle);
  singleton_function<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(handle, MPI_STATUS_IGNORE);
}

int BorderRequests::carry(Operation operation, bool persistent, MPI_Request* handle) {
  const int rc = make_carrier(persistent, handle);
  if (rc == MPI_SUCCESS) add(*handle, std::move(operation), persistent);
  return rc;
}

const Outcome& BorderRequests::outcome_of(Request& request) {
  if (!request.outcome) {
    request.outcome = request.operation.brings() ? trace_provider().completion(request.post) : Outcome();
    request.operation.await_senders(*request.outcome);
    request.operation.write(*request.outcome);
  }
  return *request.outcome;
}

void BorderRequests::look_at(Request& request, MPI_Status* status) {
  const Outcome& outcome = outcome_of(request);
  if (outcome.status) show_status(*outcome.status, status);
  else show_empty_status(status, request.operation.from_nobody() ? MPI_PROC_NULL : MPI_ANY_SOURCE);
}

Outcome BorderRequests::finish(const std::shared_ptr<Request>& request, MPI_Request* handle, MPI_Status* status) {
  if (!request->active) {
    show_empty_status(status);
    return {};
  }
  look_at(*request, status);
  Outcome outcome = std::move(*request->outcome);
  outcome.parts.clear();
  request->outcome.reset();
  request->active = false;
  if (request->persistent) return outcome;
  remove(*handle, request);  // before the library may give the handle to somebody else
  end_carrier(false, handle);
  return outcome;
}

void BorderRequests::arrived(virtual_world::Ticket ticket, const Outcome& outcome) {
  auto& orphans = border_requests().orphans_;
  const auto found = orphans.find(ticket);
  if (found == orphans.end()) return;
  found->second.write(outcome);
  orphans.erase(found);
}

int BorderRequests::free(const std::shared_ptr<Request>& request, MPI_Request* handle) {
  if (request->active && !request->outcome && request->operation.brings()) {
    trace_provider().arrived = arrived;
    if (const auto outcome = trace_provider().freed(request->post)) request->operation.write(*outcome);
    else orphans_.emplace(request->post, std::move(request->operation));
  }
  remove(*handle, request);
  end_carrier(request->persistent, handle);
  return MPI_SUCCESS;
}

}  // namespace reprise::mpi
