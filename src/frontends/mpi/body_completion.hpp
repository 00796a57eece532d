// Wait* and Test*: which operations the program saw complete, when, and in which order.
//
// Recording: indices of *any and *some are logged; tests are counted per call site (engine::PollSeries). Replaying: a
// test that failed is answered without asking the library (MPL*, section 3); one that succeeded becomes the wait for
// exactly the requests that it reported.
#pragma once

#include <vector>

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/give_way.hpp"
#include "frontends/mpi/pending_receives.hpp"
#include "frontends/mpi/persistent.hpp"
#include "frontends/mpi/poll.hpp"
#include "frontends/mpi/status.hpp"

namespace reprise::mpi::bodies {

using engine::Session;

using WaitFunction = int (*)(MPI_Request*, MPI_Status*);
using WaitallFunction = int (*)(int, MPI_Request*, MPI_Status*);

inline Call completion_call(int requests) {
  Call call;
  call.count(requests);
  return call;
}

// Watches the wildcard receives among the requests of a completion call while recording. Does nothing, and leaves the
// program's status arguments alone, when there are none pending.
class Watch {
 public:
  Watch(int count, MPI_Request* requests, MPI_Status* statuses, bool ignored, bool one_status)
      : active_(Entry::recording() && pending_receives().any()),
        count_(active_ && count > 0 ? static_cast<std::size_t>(count) : 0),
        requests_(requests),
        before_(count_),
        own_(active_ && ignored ? (one_status ? 1 : count_) : 0),
        statuses_(active_ && ignored ? own_.data() : statuses) {
    for (std::size_t i = 0; i < count_; ++i) before_[i] = requests[i];
    // With threads, a handle that this call frees may belong to another thread's new receive before we look it up.
    if (active_ && Session::get().threaded()) {
      Session::Lock lock(Session::get());
      for (std::size_t i = 0; i < count_; ++i) {
        early_.push_back(pending_receives().find(requests[i]));
        if (early_[i]) early_[i]->busy = true;
      }
    }
  }
  ~Watch() {
    if (early_.empty()) return;
    Session::Lock lock(Session::get());
    for (PendingReceives::Receive* const receive : early_)
      if (receive) receive->busy = false;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  MPI_Status* statuses() { return statuses_; }

  // Requests that the call reported; the i-th one's status is statuses()[i] (or the only one). `rc`: what it returned.
  template <class IndexOf>
  void completed(std::size_t reported, IndexOf index_of, int rc) {
    if (!active_) return;
    PendingReceives& pending = pending_receives();
    Session::Lock lock(Session::get());
    if (reported == 0) return;
    Room<PendingReceives::Taken> taken(reported);
    std::size_t settled = 0;
    for (std::size_t i = 0; i < reported; ++i) {
      const std::size_t index = index_of(i);
      if (index >= count_) continue;
      auto* receive = early_.empty() ? pending.find(before_[index]) : early_[index];
      if (!receive || !has_completed(*receive, requests_[index], rc, statuses_[i])) continue;
      taken[settled++] = pending.settle(receive, statuses_[i]);
      if (!early_.empty()) early_[index] = nullptr;
    }
    for (std::size_t i = 0; i < settled; ++i) pending.look_at_earlier(taken[i]);
    pending.look_at_owed();
  }

 private:
  // A call that fails because of one request may leave others active: their handles show it. A persistent request's
  // handle always stays; there the status does (MPI standard, 3.7.5: MPI_ERR_PENDING).
  static bool has_completed(const PendingReceives::Receive& receive, MPI_Request now, int rc,
                            const MPI_Status& status) {
    if (now == handles().request_null) return true;
    return receive.persistent && (rc == MPI_SUCCESS || status.MPI_ERROR != MPI_ERR_PENDING);
  }

  bool active_;
  std::size_t count_;
  MPI_Request* requests_;
  Room<MPI_Request> before_;
  Room<MPI_Status> own_;
  MPI_Status* statuses_;
  std::vector<PendingReceives::Receive*> early_;
};

inline std::size_t same_index(std::size_t index) { return index; }

template <class Index>
void record_indices(std::span<const Index> list, bool undefined) {
  if (!Entry::recording()) return;
  Session& session = Session::get();
  Session::Lock lock(session);
  session.recorder().indices(list, undefined);
}

// The indices that the recorded call reported; false for MPI_UNDEFINED.
inline bool replayed_indices(int count, std::vector<std::uint32_t>& out) {
  Session& session = Session::get();
  bool undefined = false;
  session.insist(session.replayer().indices(out, undefined));
  for (const std::uint32_t index : out)
    if (index >= static_cast<std::uint32_t>(count))
      session.insist(session.replayer().mismatch("the recorded call had more requests"));
  return !undefined;
}

inline int wait_for_one(Entry& entry, MPI_Request* requests, std::uint32_t index, int* index_out, MPI_Status* status) {
  Substituted chosen(1, &requests[index]);
  await_requests(entry, 1, chosen.data());
  const int rc = entry.other<WaitFunction>(Function::Wait)(chosen.data(), status);
  *index_out = static_cast<int>(index);
  return rc;
}

// Waits for exactly the reported requests, by one Waitall, so that errors come as MPI_ERR_IN_STATUS as they did.
inline int wait_for_some(Entry& entry, MPI_Request* requests, const std::vector<std::uint32_t>& list, int* outcount,
                         int* indices, MPI_Status* statuses) {
  Room<MPI_Request> chosen(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) chosen[i] = requests[list[i]];
  const int count = static_cast<int>(list.size());
  Substituted substituted(count, chosen.data());
  await_requests(entry, count, substituted.data());
  const int rc = entry.other<WaitallFunction>(Function::Waitall)(count, substituted.data(), statuses);
  substituted.give_back();
  for (std::size_t i = 0; i < list.size(); ++i) {
    requests[list[i]] = chosen[i];
    indices[i] = static_cast<int>(list[i]);
  }
  *outcount = count;
  return rc;
}

inline bool is_index(int index, int count) { return index >= 0 && index < count; }
inline bool is_count(int outcount, int count) { return outcount >= 0 && outcount <= count; }

template <class Real>
int Wait(Entry& entry, Real real, MPI_Request* request, MPI_Status* status) {
  entry.begin(completion_call(1));
  Watch watch(1, request, status, status == MPI_STATUS_IGNORE, true);
  Substituted substituted(1, request);
  int rc = MPI_SUCCESS;
  auto settle = [&] {
    substituted.give_back();
    watch.completed(1, same_index, rc);
  };
  {
    InFlight in_flight(settle);
    await_requests(entry, 1, substituted.data());
    rc = real(substituted.data(), watch.statuses());
  }
  settle();
  entry.end();
  return rc;
}

template <class Real>
int Waitall(Entry& entry, Real real, int count, MPI_Request* requests, MPI_Status* statuses) {
  entry.begin(completion_call(count));
  Watch watch(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
  Substituted substituted(count, requests);
  int rc = MPI_ERR_IN_STATUS;  // that is why it would not return
  auto settle = [&] {
    substituted.give_back();
    watch.completed(count > 0 ? static_cast<std::size_t>(count) : 0, same_index, rc);
  };
  {
    InFlight in_flight(settle);
    await_requests(entry, count, substituted.data());
    rc = real(count, substituted.data(), watch.statuses());
  }
  settle();
  entry.end();
  return rc;
}

template <class Real>
int Waitany(Entry& entry, Real real, int count, MPI_Request* requests, int* index, MPI_Status* status) {
  entry.begin(completion_call(count));
  int rc;
  std::vector<std::uint32_t> list;
  if (entry.replaying() && replayed_indices(count, list) && !list.empty()) {
    rc = wait_for_one(entry, requests, list[0], index, status);
  } else {
    Watch watch(count, requests, status, status == MPI_STATUS_IGNORE, true);
    *index = MPI_UNDEFINED;  // a call that fails may leave it as it was
    {
      Opaque opaque;
      rc = real(count, requests, index, watch.statuses());
    }
    const bool undefined = !is_index(*index, count);
    record_indices(std::span<const int>(index, undefined ? 0 : 1), undefined);
    if (!undefined)
      watch.completed(
          1, [&](std::size_t) { return static_cast<std::size_t>(*index); }, rc);
  }
  entry.end();
  return rc;
}

template <class Real>
int Waitsome(Entry& entry, Real real, int count, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) {
  entry.begin(completion_call(count));
  int rc;
  std::vector<std::uint32_t> list;
  if (entry.replaying() && replayed_indices(count, list)) {
    rc = wait_for_some(entry, requests, list, outcount, indices, statuses);
  } else {
    Watch watch(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    *outcount = MPI_UNDEFINED;
    {
      Opaque opaque;
      rc = real(count, requests, outcount, indices, watch.statuses());
    }
    const bool undefined = !is_count(*outcount, count);
    const auto reported = undefined ? 0 : static_cast<std::size_t>(*outcount);
    record_indices(std::span<const int>(indices, reported), undefined);
    watch.completed(
        reported, [&](std::size_t i) { return static_cast<std::size_t>(indices[i]); }, rc);
  }
  entry.end();
  return rc;
}

template <class Real>
int Test(Entry& entry, Real real, MPI_Request* request, int* flag, MPI_Status* status) {
  Poll poll(entry, completion_call(1));
  int rc = MPI_SUCCESS;
  if (poll.must_fail()) {
    *flag = 0;
  } else if (poll.must_succeed()) {
    Substituted substituted(1, request);
    await_requests(entry, 1, substituted.data());
    rc = entry.other<WaitFunction>(Function::Wait)(substituted.data(), status);
    *flag = 1;
  } else {
    Watch watch(1, request, status, status == MPI_STATUS_IGNORE, true);
    rc = poll.ask([&] { return real(request, flag, watch.statuses()); });
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    if (success) watch.completed(1, same_index, rc);
  }
  entry.end();
  return rc;
}

template <class Real>
int Testall(Entry& entry, Real real, int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
  Poll poll(entry, completion_call(count));
  int rc = MPI_SUCCESS;
  if (poll.must_fail()) {
    *flag = 0;
  } else if (poll.must_succeed()) {
    Substituted substituted(count, requests);
    await_requests(entry, count, substituted.data());
    rc = entry.other<WaitallFunction>(Function::Waitall)(count, substituted.data(), statuses);
    *flag = 1;
  } else {
    Watch watch(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    rc = poll.ask([&] { return real(count, requests, flag, watch.statuses()); });
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    if (success) watch.completed(count > 0 ? static_cast<std::size_t>(count) : 0, same_index, rc);
  }
  entry.end();
  return rc;
}

template <class Real>
int Testany(Entry& entry, Real real, int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status) {
  Poll poll(entry, completion_call(count));
  int rc = MPI_SUCCESS;
  std::vector<std::uint32_t> list;
  if (poll.must_fail()) {
    *flag = 0;
    *index = MPI_UNDEFINED;
  } else if (poll.must_succeed() && replayed_indices(count, list) && !list.empty()) {
    rc = wait_for_one(entry, requests, list[0], index, status);
    *flag = 1;
  } else {
    Watch watch(count, requests, status, status == MPI_STATUS_IGNORE, true);
    *index = MPI_UNDEFINED;
    *flag = 0;
    {
      Opaque opaque;
      rc = real(count, requests, index, flag, watch.statuses());
    }
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    const bool undefined = !is_index(*index, count);
    if (success) record_indices(std::span<const int>(index, undefined ? 0 : 1), undefined);
    if (success && !undefined)
      watch.completed(
          1, [&](std::size_t) { return static_cast<std::size_t>(*index); }, rc);
  }
  entry.end();
  return rc;
}

template <class Real>
int Testsome(Entry& entry, Real real, int count, MPI_Request* requests, int* outcount, int* indices,
             MPI_Status* statuses) {
  Poll poll(entry, completion_call(count));
  int rc = MPI_SUCCESS;
  std::vector<std::uint32_t> list;
  if (poll.must_fail()) {
    *outcount = 0;
  } else if (poll.must_succeed() && replayed_indices(count, list)) {
    rc = wait_for_some(entry, requests, list, outcount, indices, statuses);
  } else {
    Watch watch(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    *outcount = MPI_UNDEFINED;
    {
      Opaque opaque;
      rc = real(count, requests, outcount, indices, watch.statuses());
    }
    const bool undefined = !is_count(*outcount, count);
    const auto reported = undefined ? 0 : static_cast<std::size_t>(*outcount);
    const bool success = *outcount != 0 || rc != MPI_SUCCESS;
    poll.answered(success);
    if (success) record_indices(std::span<const int>(indices, reported), undefined);
    watch.completed(
        reported, [&](std::size_t i) { return static_cast<std::size_t>(indices[i]); }, rc);
  }
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
