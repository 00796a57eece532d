// MPI_Wait and its kin at the border. Recording: what they show complete is logged. Solo replay: they are answered from
// the log, and since the wrappers above only wait for what was complete then, every operation is.
#include "engine/thread_stream.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/requests.hpp"
#include "frontends/mpi/status.hpp"

namespace reprise::mpi {
namespace {

using WaitFunction = int (*)(MPI_Request*, MPI_Status*);
using TestFunction = int (*)(MPI_Request*, int*, MPI_Status*);

// --- recording ------------------------------------------------------------------------------------------------------

// The requests of one call, as they were, and statuses even if the program ignores them.
class Watched {
 public:
  Watched(int count, MPI_Request* requests, MPI_Status* statuses, bool ignored, bool one_status)
      : active_(border_requests().any()),
        count_(active_ && count > 0 ? static_cast<std::size_t>(count) : 0),
        requests_(requests),
        before_(count_),
        own_(active_ && ignored ? (one_status ? 1 : count_) : 0),
        statuses_(active_ && ignored ? own_.data() : statuses) {
    for (std::size_t i = 0; i < count_; ++i) before_[i] = requests[i];
    if (engine::has_threads())
      for (std::size_t i = 0; i < count_; ++i) early_.push_back(border_requests().find(requests[i]));
  }

  MPI_Status* statuses() { return statuses_; }

  // Request `index` is complete, with status number `at`. The library has freed it unless it is persistent.
  void completed(std::size_t index, std::size_t at, int rc) {
    if (index >= count_) return;
    const int error = rc == MPI_ERR_IN_STATUS ? statuses_[at].MPI_ERROR : rc;
    if (rc != MPI_SUCCESS && requests_[index] == before_[index] && error == MPI_ERR_PENDING) return;
    const auto request = early_.empty() ? border_requests().find(before_[index]) : early_[index];
    border_requests().completed(before_[index], request, error, statuses_[at], true);
  }
  void all_completed(int rc) {
    for (std::size_t i = 0; i < count_; ++i) completed(i, i, rc);
  }

  // Calls the library. `show` tells which requests are complete, given what it returned; also if an error handler takes
  // over and never comes back.
  template <class Call, class Show>
  int around(Call call, Show show) {
    bool shown = false;
    auto settle = [&] {
      if (!shown) show(t_error.code);
      shown = true;
    };
    int rc;
    {
      AtBorder in_flight(settle);
      rc = call();
    }
    if (!shown) show(rc);
    return rc;
  }

 private:
  bool active_;
  std::size_t count_;
  MPI_Request* requests_;
  Room<MPI_Request> before_;
  Room<MPI_Status> own_;
  MPI_Status* statuses_;
  std::vector<std::shared_ptr<BorderRequests::Request>> early_;
};

template <Flavor kFlavor>
struct Recording {
  static int Wait(MPI_Request* request, MPI_Status* status) {
    Watched watched(1, request, status, status == MPI_STATUS_IGNORE, true);
    return watched.around(
        [&] { return library_function<WaitFunction>(Function::Wait, kFlavor)(request, watched.statuses()); },
        [&](int rc) { watched.completed(0, 0, rc); });
  }
  static int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    Watched watched(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    using Real = int (*)(int, MPI_Request*, MPI_Status*);
    return watched.around(
        [&] { return library_function<Real>(Function::Waitall, kFlavor)(count, requests, watched.statuses()); },
        [&](int rc) { watched.all_completed(rc); });
  }
  static int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    Watched watched(count, requests, status, status == MPI_STATUS_IGNORE, true);
    using Real = int (*)(int, MPI_Request*, int*, MPI_Status*);
    return watched.around(
        [&] { return library_function<Real>(Function::Waitany, kFlavor)(count, requests, index, watched.statuses()); },
        [&](int rc) {
          if (*index != MPI_UNDEFINED) watched.completed(static_cast<std::size_t>(*index), 0, rc);
        });
  }
  static int Waitsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
    return some(Function::Waitsome, count, requests, outcount, indices, statuses);
  }
  static int Test(MPI_Request* request, int* flag, MPI_Status* status) {
    Watched watched(1, request, status, status == MPI_STATUS_IGNORE, true);
    return watched.around(
        [&] { return library_function<TestFunction>(Function::Test, kFlavor)(request, flag, watched.statuses()); },
        [&](int rc) {
          if (*flag || rc != MPI_SUCCESS) watched.completed(0, 0, rc);
        });
  }
  static int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    Watched watched(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    using Real = int (*)(int, MPI_Request*, int*, MPI_Status*);
    return watched.around(
        [&] { return library_function<Real>(Function::Testall, kFlavor)(count, requests, flag, watched.statuses()); },
        [&](int rc) {
          if (*flag || rc != MPI_SUCCESS) watched.all_completed(rc);
        });
  }
  static int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    Watched watched(count, requests, status, status == MPI_STATUS_IGNORE, true);
    using Real = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);
    return watched.around(
        [&] {
          return library_function<Real>(Function::Testany, kFlavor)(count, requests, index, flag, watched.statuses());
        },
        [&](int rc) {
          if (*flag && *index != MPI_UNDEFINED) watched.completed(static_cast<std::size_t>(*index), 0, rc);
        });
  }
  static int Testsome(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses) {
    return some(Function::Testsome, count, requests, outcount, indices, statuses);
  }
  static int Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
    MPI_Status own{};
    MPI_Status* const observed = status == MPI_STATUS_IGNORE ? &own : status;
    using Real = int (*)(MPI_Request, int*, MPI_Status*);
    const int rc = library_function<Real>(Function::Request_get_status, kFlavor)(request, flag, observed);
    if (rc == MPI_SUCCESS && *flag)
      border_requests().completed(request, border_requests().find(request), MPI_SUCCESS, *observed, false);
    return rc;
  }
  static int Request_free(MPI_Request* request) {
    if (border_requests().keep(*request)) {
      *request = handles().request_null;
      border_requests().look_at_kept();
      return MPI_SUCCESS;
    }
    return library_function<int (*)(MPI_Request*)>(Function::Request_free, kFlavor)(request);
  }
  static int Start(MPI_Request* request) {
    border_requests().started(*request, 0);
    return library_function<int (*)(MPI_Request*)>(Function::Start, kFlavor)(request);
  }
  static int Startall(int count, MPI_Request* requests) {
    for (int i = 0; i < count; ++i) border_requests().started(requests[i], static_cast<std::uint64_t>(i));
    return library_function<int (*)(int, MPI_Request*)>(Function::Startall, kFlavor)(count, requests);
  }
  static int Parrived(MPI_Request request, int partition, int* flag) {
    using Real = int (*)(MPI_Request, int, int*);
    const int rc = library_function<Real>(Function::Parrived, kFlavor)(request, partition, flag);
    const auto known = border_requests().find(request);
    if (rc == MPI_SUCCESS && *flag && known && known->active) known->operation.log_partition(known->post, partition);
    return rc;
  }

 private:
  static int some(Function function, int count, MPI_Request* requests, int* outcount, int* indices,
                  MPI_Status* statuses) {
    Watched watched(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    using Real = int (*)(int, MPI_Request*, int*, int*, MPI_Status*);
    return watched.around(
        [&] {
          return library_function<Real>(function, kFlavor)(count, requests, outcount, indices, watched.statuses());
        },
        [&](int rc) {
          for (int i = 0; *outcount != MPI_UNDEFINED && i < *outcount; ++i)
            watched.completed(static_cast<std::size_t>(indices[i]), static_cast<std::size_t>(i), rc);
        });
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

template <class Side>
void put_common(Flavor flavor) {
  put_at_border(Function::Wait, flavor, &Side::Wait);
  put_at_border(Function::Waitall, flavor, &Side::Waitall);
  put_at_border(Function::Waitany, flavor, &Side::Waitany);
  put_at_border(Function::Waitsome, flavor, &Side::Waitsome);
  put_at_border(Function::Test, flavor, &Side::Test);
  put_at_border(Function::Testall, flavor, &Side::Testall);
  put_at_border(Function::Testany, flavor, &Side::Testany);
  put_at_border(Function::Testsome, flavor, &Side::Testsome);
  put_at_border(Function::Request_get_status, flavor, &Side::Request_get_status);
  put_at_border(Function::Request_free, flavor, &Side::Request_free);
  put_at_border(Function::Start, flavor, &Side::Start);
  put_at_border(Function::Startall, flavor, &Side::Startall);
  put_at_border(Function::Parrived, flavor, &Side::Parrived);
}

}  // namespace

void put_completion_at_border(bool solo) {
  if (!solo) {
    put_common<Recording<Flavor::Mpi>>(Flavor::Mpi);
    put_common<Recording<Flavor::Pmpi>>(Flavor::Pmpi);
    return;
  }
  for (const Flavor flavor : {Flavor::Mpi, Flavor::Pmpi}) {
    put_common<Solo>(flavor);
    put_at_border(Function::Cancel, flavor, &Solo::Cancel);
    for (const Function function : {Function::Pready, Function::Pready_range, Function::Pready_list})
      put_at_border(function, flavor, &Solo::nothing_to_do);
  }
}

}  // namespace reprise::mpi
