// MPI_Wait and its kin for an explored rank. Which requests are reported, and whether a test says yes, the explorer
// says.
#include <algorithm>

#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {

void forget_request(MPI_Request handle);

namespace {

// The requests of one call. Ours are known to the explorer; others (generalised ones) are the library's own.
class Asked {
 public:
  // `both`: of MPI_Isendrecv, its send too.
  Asked(int count, MPI_Request* handles, bool both = true)
      : count_(count > 0 ? static_cast<std::size_t>(count) : 0), handles_(handles) {
    for (std::size_t i = 0; i < count_; ++i) {
      requests_.push_back(find_request(handles[i]));
      const auto& request = requests_.back();
      if (!request || !request->active) continue;
      for (const OperationId operation : {request->operation, request->second}) {
        if (operation == 0) continue;
        of_.push_back(i);
        operations_.push_back(operation);
        if (!both) break;
      }
      if (request->operation == 0 && request->second == 0) complete_.push_back(i);
    }
  }

  bool any_active() const { return !operations_.empty(); }
  // None is ours: the library does it all.
  bool are_foreign() const {
    return std::none_of(requests_.begin(), requests_.end(), [](const auto& request) { return request != nullptr; });
  }
  // Those that concern nobody.
  const std::vector<std::size_t>& complete() const { return complete_; }
  const std::vector<OperationId>& operations() const { return operations_; }
  std::size_t count() const { return count_; }
  const std::shared_ptr<Request>& request(std::size_t index) const { return requests_[index]; }
  // Which of the program's requests an operation belongs to.
  std::size_t owner(std::uint32_t operation) const { return of_[operation]; }

  // The program sees it complete.
  int finish(std::size_t index, const Report* report, MPI_Status* status) {
    Request& request = *requests_[index];
    int error = MPI_SUCCESS;
    if (request.nobody && request.hears) show_empty_status(status, MPI_PROC_NULL);
    else if (report) error = deliver(request, *report, status);
    else show_empty_status(status);
    request.active = false;
    if (request.persistent) return error;
    forget_request(handles_[index]);
    end_carrier(false, &handles_[index]);
    return error;
  }

 private:
  std::size_t count_;
  MPI_Request* handles_;
  std::vector<std::shared_ptr<Request>> requests_;
  std::vector<OperationId> operations_;
  std::vector<std::size_t> complete_;
  std::vector<std::size_t> of_;
};

MPI_Status* nth(MPI_Status* statuses, std::size_t index) {
  return statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[index];
}

// Completes what the library itself has at these places, and shows empty statuses for what is inactive.
void finish_others(Asked& asked, MPI_Request* handles_, MPI_Status* statuses) {
  for (std::size_t i = 0; i < asked.count(); ++i) {
    const auto& request = asked.request(i);
    if (!request)
      singleton_function<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(&handles_[i], nth(statuses, i));
    else if (!request->active) show_empty_status(nth(statuses, i));
    if (request && !request->active) request->was_awaited |= !request->was_started;
  }
}

// All of them are reported.
int finish_all(Asked& asked, const Reply& reply, MPI_Request* handles_, MPI_Status* statuses, bool one) {
  finish_others(asked, handles_, statuses);
  std::vector<const Report*> report_of(asked.count());
  for (const Report& report : reply.reports) {
    const std::size_t owner = asked.owner(report.index);
    if (!report_of[owner]) report_of[owner] = &report;  // of two, the receive comes first
  }
  int worst = MPI_SUCCESS;
  MPI_Comm blamed = handles().comm_world;
  std::vector<int> errors(asked.count());
  for (std::size_t i = 0; i < asked.count(); ++i) {
    const auto& request = asked.request(i);
    if (!request || !request->active) continue;
    const MPI_Comm comm = request->comm;
    errors[i] = asked.finish(i, report_of[i], nth(statuses, i));
    if (errors[i] == MPI_SUCCESS || worst != MPI_SUCCESS) continue;
    worst = one ? errors[i] : MPI_ERR_IN_STATUS;
    blamed = comm;
  }
  for (std::size_t i = 0; worst != MPI_SUCCESS && !one && statuses != MPI_STATUSES_IGNORE && i < asked.count(); ++i)
    statuses[i].MPI_ERROR = errors[i];
  return raise(blamed, worst);
}

int waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  Asked asked(count, requests);
  const Reply reply = asked.any_active() ? ask(Kind::All, 0, asked.operations()) : Reply();
  return finish_all(asked, reply, requests, statuses, false);
}

int wait(MPI_Request* request, MPI_Status* status) {
  Asked asked(1, request);
  const Reply reply = asked.any_active() ? ask(Kind::All, 0, asked.operations()) : Reply();
  return finish_all(asked, reply, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status, true);
}

// Those that are the library's own, and are complete.
bool others_are_complete(Asked& asked, MPI_Request* requests) {
  for (std::size_t i = 0; i < asked.count(); ++i) {
    if (asked.request(i) || requests[i] == handles().request_null) continue;
    int flag = 0;
    singleton_function<int (*)(MPI_Request, int*, MPI_Status*)>(Function::Request_get_status)(requests[i], &flag,
                                                                                              MPI_STATUS_IGNORE);
    if (!flag) return false;
  }
  return true;
}

int testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Asked asked(count, requests);
  if (asked.are_foreign())
    return singleton_function<int (*)(int, MPI_Request*, int*, MPI_Status*)>(Function::Testall)(count, requests, flag,
                                                                                                statuses);
  *flag = 0;
  if (!others_are_complete(asked, requests)) return MPI_SUCCESS;
  const Reply reply = asked.any_active() ? ask(Kind::All, virtual_world::kMaySayNo, asked.operations()) : Reply();
  *flag = reply.yes ? 1 : 0;
  return reply.yes ? finish_all(asked, reply, requests, statuses, false) : MPI_SUCCESS;
}

int test(MPI_Request* request, int* flag, MPI_Status* status) {
  Asked asked(1, request);
  if (asked.are_foreign())
    return singleton_function<int (*)(MPI_Request*, int*, MPI_Status*)>(Function::Test)(request, flag, status);
  *flag = 0;
  if (!others_are_complete(asked, request)) return MPI_SUCCESS;
  const Reply reply = asked.any_active() ? ask(Kind::All, virtual_world::kMaySayNo, asked.operations()) : Reply();
  *flag = reply.yes ? 1 : 0;
  if (!reply.yes) return MPI_SUCCESS;
  return finish_all(asked, reply, request, status == MPI_STATUS_IGNORE ? MPI_STATUSES_IGNORE : status, true);
}

// --- any and some ----------------------------------------------------------------------------------------------------

// A request of the library's own that is complete is reported first: the explorer knows nothing of it.
std::size_t ready_other(Asked& asked, MPI_Request* requests) {
  for (std::size_t i = 0; i < asked.count(); ++i) {
    if (asked.request(i) || requests[i] == handles().request_null) continue;
    int flag = 0;
    singleton_function<int (*)(MPI_Request, int*, MPI_Status*)>(Function::Request_get_status)(requests[i], &flag,
                                                                                              MPI_STATUS_IGNORE);
    if (flag) return i;
  }
  return asked.count();
}

int any(std::uint64_t flags, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Asked asked(count, requests, false);
  *index = MPI_UNDEFINED;
  *flag = 1;
  if (const std::size_t other = ready_other(asked, requests); other < asked.count()) {
    *index = static_cast<int>(other);
    return singleton_function<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(&requests[other], status);
  }
  if (!asked.complete().empty()) {
    *index = static_cast<int>(asked.complete().front());
    return asked.finish(asked.complete().front(), nullptr, status);
  }
  if (!asked.any_active()) {
    show_empty_status(status);
    return MPI_SUCCESS;
  }
  const Reply reply = ask(Kind::Any, flags, asked.operations());
  *flag = reply.yes ? 1 : 0;
  if (!reply.yes || reply.reports.empty()) return MPI_SUCCESS;
  const std::size_t owner = asked.owner(reply.reports[0].index);
  *index = static_cast<int>(owner);
  const MPI_Comm comm = asked.request(owner)->comm;
  return raise(comm, asked.finish(owner, &reply.reports[0], status));
}

int waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  if (Asked(count, requests).are_foreign())
    return singleton_function<int (*)(int, MPI_Request*, int*, MPI_Status*)>(Function::Waitany)(count, requests, index,
                                                                                                status);
  int flag = 0;
  return any(0, count, requests, index, &flag, status);
}

int testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  if (Asked(count, requests).are_foreign())
    return singleton_function<int (*)(int, MPI_Request*, int*, int*, MPI_Status*)>(Function::Testany)(
        count, requests, index, flag, status);
  return any(virtual_world::kMaySayNo, count, requests, index, flag, status);
}

int some(std::uint64_t flags, int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  Asked asked(count, requests, false);
  *outcount = 0;
  if (const std::size_t other = ready_other(asked, requests); other < asked.count()) {
    *outcount = 1;
    indices[0] = static_cast<int>(other);
    return singleton_function<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(&requests[other], nth(statuses, 0));
  }
  if (!asked.complete().empty()) {
    *outcount = 1;
    indices[0] = static_cast<int>(asked.complete().front());
    return asked.finish(asked.complete().front(), nullptr, nth(statuses, 0));
  }
  if (!asked.any_active()) {
    *outcount = MPI_UNDEFINED;
    return MPI_SUCCESS;
  }
  const Reply reply = ask(Kind::Some, flags, asked.operations());
  if (!reply.yes) return MPI_SUCCESS;
  int worst = MPI_SUCCESS;
  MPI_Comm blamed = handles().comm_world;
  std::vector<int> errors;
  for (const Report& report : reply.reports) {
    const std::size_t owner = asked.owner(report.index);
    const MPI_Comm comm = asked.request(owner)->comm;
    const auto place = static_cast<std::size_t>(*outcount);
    errors.push_back(asked.finish(owner, &report, nth(statuses, place)));
    indices[(*outcount)++] = static_cast<int>(owner);
    if (errors.back() == MPI_SUCCESS || worst != MPI_SUCCESS) continue;
    worst = MPI_ERR_IN_STATUS;
    blamed = comm;
  }
  for (std::size_t i = 0; worst != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE && i < errors.size(); ++i)
    statuses[i].MPI_ERROR = errors[i];
  return raise(blamed, worst);
}

using Some = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);

int waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (Asked(count, requests).are_foreign())
    return singleton_function<Some>(Function::Waitsome)(count, requests, outcount, indices, statuses);
  return some(0, count, requests, outcount, indices, statuses);
}
int testsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
  if (Asked(count, requests).are_foreign())
    return singleton_function<Some>(Function::Testsome)(count, requests, outcount, indices, statuses);
  return some(virtual_world::kMaySayNo, count, requests, outcount, indices, statuses);
}

// --- the rest --------------------------------------------------------------------------------------------------------

// Asked by the program, it is a poll; by Reprise itself, who watches receives, it is the truth.
int request_get_status(MPI_Request handle, int* flag, MPI_Status* status) {
  const auto request = find_request(handle);
  if (!request)
    return singleton_function<int (*)(MPI_Request, int*, MPI_Status*)>(Function::Request_get_status)(handle, flag,
                                                                                                     status);
  *flag = 1;
  if (!request->active || request->operation == 0) {
    show_empty_status(status, request->nobody && request->hears ? MPI_PROC_NULL : MPI_ANY_SOURCE);
    return MPI_SUCCESS;
  }
  const std::uint64_t flags =
      t_state.own_look ? virtual_world::kOwnLook : virtual_world::kMaySayNo | virtual_world::kKeeps;
  const Reply reply = ask(Kind::All, flags, {&request->operation, 1});
  *flag = reply.yes ? 1 : 0;
  if (!reply.yes) return MPI_SUCCESS;
  const Report& report = reply.reports[0];
  const Communicator* const found = known(request->comm);
  if (!t_state.own_look && request->lent) {  // the program has its memory back
    request->lent->end();
    request->lent.reset();
  }
  if (!request->hears || report.cancelled) {
    show_status({MPI_ANY_SOURCE, MPI_ANY_TAG, 0, report.cancelled, MPI_SUCCESS}, status);
  } else {
    const int source = found ? found->peers().rank_of(report.source).value_or(0) : 0;
    show_status({source, report.tag, static_cast<std::int64_t>(report.bytes), false, MPI_SUCCESS}, status);
    // The bytes are there from now on; the explorer still has them for the call that completes it.
    request->lent.reset();
    if (report.data != 0) unpack(Label(actor().bytes(report.data)).data, report.bytes, request->into);
  }
  return MPI_SUCCESS;
}

int request_free(MPI_Request* handle) {
  const auto request = find_request(*handle);
  if (!request) return singleton_function<int (*)(MPI_Request*)>(Function::Request_free)(handle);
  forget_request(*handle);
  request->lent.reset();
  if (request->was_awaited && !request->was_started)
    check::report(check::Category::RequestMisuse, check::here(), "waited for, but never started");
  if (request->active && !request->is_cancelled && (request->hears || request->collective))
    check::report(check::Category::RequestMisuse, check::here(), "freed while it is active");
  if (request->active && request->operation != 0 && (request->hears || request->collective)) leave_orphan(request);
  end_carrier(request->persistent, handle);
  return MPI_SUCCESS;
}

int cancel(MPI_Request* handle) {
  const auto request = find_request(*handle);
  if (!request) return singleton_function<int (*)(MPI_Request*)>(Function::Cancel)(handle);
  request->is_cancelled = true;
  if (request->active && request->operation != 0) actor().act(Act::Cancel, {request->operation});
  return MPI_SUCCESS;
}

}  // namespace

void put_completion() {
  put_in_place_of_library(Function::Wait, &wait);
  put_in_place_of_library(Function::Waitall, &waitall);
  put_in_place_of_library(Function::Waitany, &waitany);
  put_in_place_of_library(Function::Waitsome, &waitsome);
  put_in_place_of_library(Function::Test, &test);
  put_in_place_of_library(Function::Testall, &testall);
  put_in_place_of_library(Function::Testany, &testany);
  put_in_place_of_library(Function::Testsome, &testsome);
  put_in_place_of_library(Function::Request_get_status, &request_get_status);
  put_in_place_of_library(Function::Request_free, &request_free);
  put_in_place_of_library(Function::Cancel, &cancel);
}

}  // namespace reprise::mpi::live
