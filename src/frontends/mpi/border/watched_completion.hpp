// MPI_Wait and its kin before the library: whoever keeps account of requests learns which are complete, and with which
// status, also where the program does not want to know it.
//
// A table of requests has: any(), find(handle), completed(handle, found, error, status, gone), keeps(handle) if the program
// frees it, look_at_kept(), started(handle, index), replaced(before, after), arrived(handle, partition).
#pragma once

#include "engine/thread_stream.hpp"
#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/status.hpp"

namespace reprise::mpi {

using WaitFunction = int (*)(MPI_Request*, MPI_Status*);
using TestFunction = int (*)(MPI_Request*, int*, MPI_Status*);

// The requests of one call, as they were, and statuses even if the program ignores them.
template <class Table>
class Watched {
 public:
  Watched(int count, MPI_Request* requests, MPI_Status* statuses, bool ignored, bool one_status)
      : active_(Table::any()),
        count_(active_ && count > 0 ? static_cast<std::size_t>(count) : 0),
        requests_(requests),
        before_(count_),
        own_(active_ && ignored ? (one_status ? 1 : count_) : 0),
        statuses_(active_ && ignored ? own_.data() : statuses) {
    for (std::size_t i = 0; i < count_; ++i) before_[i] = requests[i];
    if (engine::has_threads())
      for (std::size_t i = 0; i < count_; ++i) early_.push_back(Table::find(requests[i]));
  }

  MPI_Status* statuses() { return statuses_; }

  // Request `index` is complete, with status number `at`. The library has freed it unless it is persistent.
  void completed(std::size_t index, std::size_t at, int rc) {
    if (index >= count_) return;
    const int error = rc == MPI_ERR_IN_STATUS ? statuses_[at].MPI_ERROR : rc;
    if (rc != MPI_SUCCESS && requests_[index] == before_[index] && error == MPI_ERR_PENDING) return;
    const auto request = early_.empty() ? Table::find(before_[index]) : early_[index];
    Table::completed(before_[index], request, error, statuses_[at], true);
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
  std::vector<typename Table::Found> early_;
};

template <class Table, Flavor kFlavor>
struct WatchedCalls {
  static int Wait(MPI_Request* request, MPI_Status* status) {
    Watched<Table> watched(1, request, status, status == MPI_STATUS_IGNORE, true);
    return watched.around(
        [&] { return library_function<WaitFunction>(Function::Wait, kFlavor)(request, watched.statuses()); },
        [&](int rc) { watched.completed(0, 0, rc); });
  }
  static int Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    Watched<Table> watched(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    using Real = int (*)(int, MPI_Request*, MPI_Status*);
    return watched.around(
        [&] { return library_function<Real>(Function::Waitall, kFlavor)(count, requests, watched.statuses()); },
        [&](int rc) { watched.all_completed(rc); });
  }
  static int Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    Watched<Table> watched(count, requests, status, status == MPI_STATUS_IGNORE, true);
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
    Watched<Table> watched(1, request, status, status == MPI_STATUS_IGNORE, true);
    return watched.around(
        [&] { return library_function<TestFunction>(Function::Test, kFlavor)(request, flag, watched.statuses()); },
        [&](int rc) {
          if (*flag || rc != MPI_SUCCESS) watched.completed(0, 0, rc);
        });
  }
  static int Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
    Watched<Table> watched(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    using Real = int (*)(int, MPI_Request*, int*, MPI_Status*);
    return watched.around(
        [&] { return library_function<Real>(Function::Testall, kFlavor)(count, requests, flag, watched.statuses()); },
        [&](int rc) {
          if (*flag || rc != MPI_SUCCESS) watched.all_completed(rc);
        });
  }
  static int Testany(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
    Watched<Table> watched(count, requests, status, status == MPI_STATUS_IGNORE, true);
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
      Table::completed(request, Table::find(request), MPI_SUCCESS, *observed, false);
    return rc;
  }
  static int Request_free(MPI_Request* request) {
    if (Table::keeps(*request)) {
      *request = handles().request_null;
      Table::look_at_kept();
      return MPI_SUCCESS;
    }
    return library_function<int (*)(MPI_Request*)>(Function::Request_free, kFlavor)(request);
  }
  static int Start(MPI_Request* request) {
    const MPI_Request before = *request;
    Table::started(before, 0);
    const int rc = library_function<int (*)(MPI_Request*)>(Function::Start, kFlavor)(request);
    if (*request != before) Table::replaced(before, *request);
    return rc;
  }
  static int Startall(int count, MPI_Request* requests) {
    Room<MPI_Request> before(static_cast<std::size_t>(count > 0 ? count : 0));
    for (int i = 0; i < count; ++i) {
      before[static_cast<std::size_t>(i)] = requests[i];
      Table::started(requests[i], static_cast<std::uint64_t>(i));
    }
    const int rc = library_function<int (*)(int, MPI_Request*)>(Function::Startall, kFlavor)(count, requests);
    for (int i = 0; i < count; ++i)
      if (requests[i] != before[static_cast<std::size_t>(i)]) Table::replaced(before[static_cast<std::size_t>(i)], requests[i]);
    return rc;
  }
  static int Parrived(MPI_Request request, int partition, int* flag) {
    using Real = int (*)(MPI_Request, int, int*);
    const int rc = library_function<Real>(Function::Parrived, kFlavor)(request, partition, flag);
    if (rc == MPI_SUCCESS && *flag) Table::arrived(request, partition);
    return rc;
  }

 private:
  static int some(Function function, int count, MPI_Request* requests, int* outcount, int* indices,
                  MPI_Status* statuses) {
    Watched<Table> watched(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
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

template <class Side>
void put_completion_calls(Flavor flavor) {
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

}  // namespace reprise::mpi
