// MPI_Wait and its kin at the border. Recording: what they show complete is logged. Solo replay: they are answered from
// the log, and since the wrappers above only wait for what was complete then, every operation is.
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/border/watched_completion.hpp"

namespace reprise::mpi {
namespace {

// --- recording ------------------------------------------------------------------------------------------------------

struct RecordedRequests {
  using Found = std::shared_ptr<BorderRequests::Request>;
  static bool any() { return border_requests().any(); }
  static Found find(MPI_Request handle) { return border_requests().find(handle); }
  static void completed(MPI_Request handle, const Found& found, int error, const MPI_Status& status, bool gone) {
    border_requests().completed(handle, found, error, status, gone);
  }
  static bool keeps(MPI_Request handle) { return border_requests().keep(handle); }
  static void look_at_kept() { border_requests().look_at_kept(); }
  static void started(MPI_Request handle, std::uint64_t index) { border_requests().started(handle, index); }
  static void replaced(MPI_Request before, MPI_Request after) { border_requests().replaced(before, after); }
  static void arrived(MPI_Request handle, int partition) {
    const auto known = border_requests().find(handle);
    if (known && known->active) known->operation.log_partition(known->post, partition);
  }
};

// --- solo replay ----------------------------------------------------------------------------------------------------

struct Solo {
  static int Wait(MPI_Request* request, MPI_Status* status) {
    const auto known = border_requests().find(*request);
    if (!known) return library_function<WaitFunction>(Function::Wait)(request, status);
    return known->operation.raise(border_requests().finish(known, request, status));
  }
  static int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    virtual_world::Outcome worst;
    std::shared_ptr<BorderRequests::Request> blamed;
    std::vector<int> errors;
    for (int i = 0; i < count; ++i) {
      MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : &statuses[i];
      const auto known = border_requests().find(requests[i]);
      virtual_world::Outcome outcome;
      if (known) outcome = border_requests().finish(known, &requests[i], status);
      else outcome.error = library_function<WaitFunction>(Function::Wait)(&requests[i], status);
      errors.push_back(outcome.error);
      if (outcome.error == MPI_SUCCESS || worst.error != MPI_SUCCESS) continue;
      blamed = known;
      worst = {MPI_ERR_IN_STATUS, std::nullopt, {}, std::move(outcome.numbers)};
    }
    // As the libraries do: the statuses tell the errors only if there are any.
    for (int i = 0; worst.error != MPI_SUCCESS && statuses != MPI_STATUSES_IGNORE && i < count; ++i)
      statuses[i].MPI_ERROR = errors[static_cast<std::size_t>(i)];
    return blamed ? blamed->operation.raise(worst) : worst.error;
  }
  // The wrappers above wait for what was reported then. They come here only if nothing was.
  static int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    int flag = 0;
    return Testany(count, requests, index, &flag, status);
  }
  static int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    *index = MPI_UNDEFINED;
    *flag = 1;
    for (int i = 0; i < count; ++i) {
      const auto known = border_requests().find(requests[i]);
      if (!known || !known->active) continue;
      *index = i;
      return Wait(&requests[i], status);
    }
    show_empty_status(status);
    return MPI_SUCCESS;
  }
  static int Waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
    int flag = 0;
    int index = MPI_UNDEFINED;
    const int rc =
        Testany(count, requests, &index, &flag, statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses);
    *outcount = index == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
    if (index != MPI_UNDEFINED) indices[0] = index;
    return rc;
  }
  static int Testsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
    return Waitsome(count, requests, outcount, indices, statuses);
  }
  static int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    if (!border_requests().find(*request)) return library_function<TestFunction>(Function::Test)(request, flag, status);
    *flag = 1;
    return Wait(request, status);
  }
  static int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    *flag = 1;
    return Waitall(count, requests, statuses);
  }
  static int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    const auto known = border_requests().find(request);
    using Real = int (*)(MPI_Request, int*, MPI_Status*);
    if (!known) return library_function<Real>(Function::Request_get_status)(request, flag, status);
    *flag = 1;
    if (known->active) border_requests().look_at(*known, status);
    else show_empty_status(status);
    return MPI_SUCCESS;
  }
  static int Request_free(MPI_Request* request) {
    const auto known = border_requests().find(*request);
    if (known) return border_requests().free(known, request);
    return library_function<int (*)(MPI_Request*)>(Function::Request_free)(request);
  }
  static int Start(MPI_Request* request) {
    border_requests().started(*request, 0);
    return MPI_SUCCESS;
  }
  static int Startall(int count, MPI_Request* requests) {
    for (int i = 0; i < count; ++i) border_requests().started(requests[i], static_cast<std::uint64_t>(i));
    return MPI_SUCCESS;
  }
  static int Cancel(MPI_Request* request) {
    if (border_requests().find(*request)) return MPI_SUCCESS;  // what was cancelled in time never gets here
    return library_function<int (*)(MPI_Request*)>(Function::Cancel)(request);
  }
  static int Parrived(MPI_Request request, int partition, int* flag) {
    *flag = 1;
    const auto known = border_requests().find(request);
    if (known && known->active && known->operation.brings())
      known->operation.write_partition(trace_provider().partition(known->post, partition), partition);
    return MPI_SUCCESS;
  }
  static int nothing_to_do(...) { return MPI_SUCCESS; }
};

}  // namespace

void put_completion_at_border(bool solo) {
  if (!solo) {
    put_completion_calls<WatchedCalls<RecordedRequests, Flavor::Mpi>>(Flavor::Mpi);
    put_completion_calls<WatchedCalls<RecordedRequests, Flavor::Pmpi>>(Flavor::Pmpi);
    return;
  }
  for (const Flavor flavor : {Flavor::Mpi, Flavor::Pmpi}) {
    put_completion_calls<Solo>(flavor);
    put_at_border(Function::Cancel, flavor, &Solo::Cancel);
    for (const Function function : {Function::Pready, Function::Pready_range, Function::Pready_list})
      put_at_border(function, flavor, &Solo::nothing_to_do);
  }
}

}  // namespace reprise::mpi
