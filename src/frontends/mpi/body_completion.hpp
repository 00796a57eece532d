// Wait*, Test*, Request_free, Cancel: which operations the program saw complete, when, and in which order.
//
// Recording: indices of *any and *some are logged; tests are counted per call site (engine::PollSeries). Replaying: a
// test that failed is answered without asking the library (MPL*, section 3); one that succeeded becomes the wait for
// exactly the requests that it reported.
#pragma once

#include <vector>

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/pending_receives.hpp"
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
      for (std::size_t i = 0; i < count_; ++i) early_.push_back(pending_receives().find(requests[i]));
    }
  }

  MPI_Status* statuses() { return statuses_; }

  // Requests that the call reported; the i-th one's status is statuses()[i] (or the only one).
  template <class IndexOf>
  void completed(std::size_t reported, IndexOf index_of) {
    if (!active_) return;
    PendingReceives& pending = pending_receives();
    Session::Lock lock(Session::get());
    if (reported == 0) return;
    Room<PendingReceives::Taken> taken(reported);
    std::size_t settled = 0;
    for (std::size_t i = 0; i < reported; ++i) {
      const std::size_t index = index_of(i);
      if (index >= count_ || requests_[index] != handles().request_null) continue;  // still active: an error elsewhere
      auto* receive = early_.empty() ? pending.find(before_[index]) : early_[index];
      if (receive) taken[settled++] = pending.settle(receive, statuses_[i]);
    }
    for (std::size_t i = 0; i < settled; ++i) pending.look_at_earlier(taken[i]);
    pending.look_at_owed();
  }

 private:
  bool active_;
  std::size_t count_;
  MPI_Request* requests_;
  Room<MPI_Request> before_;
  Room<MPI_Status> own_;
  MPI_Status* statuses_;
  std::vector<PendingReceives::Receive*> early_;
};

inline std::size_t same_index(std::size_t index) { return index; }

// A test in progress. Recording: what it answered is counted. Replaying: what it must answer is known.
class Poll {
 public:
  Poll(Entry& entry, const Call& call) {
    Session& session = Session::get();
    if (entry.recording()) {
      Session::Lock lock(session);
      if (session.threaded()) session.notice_thread();
      site_ = &session.recorder().poll_begin(entry.function(), entry.caller(), call.values, absorbed_);
    } else if (entry.replaying() && session.replaying_now()) {
      session.insist(session.replayer().poll(entry.function(), entry.caller(), call.values, success_));
      if (success_) session.supervisor().entered(session.replayer().next_event(), engine::RankState::InCall);
      forced_ = true;
    } else {
      entry.begin(call);
    }
  }

  bool must_fail() const { return forced_ && !success_; }
  bool must_succeed() const { return forced_ && success_; }
  void answered(bool success) {
    if (!site_) return;
    Session& session = Session::get();
    Session::Lock lock(session);
    session.recorder().poll_end(*site_, absorbed_, success);
  }

 private:
  engine::Site* site_ = nullptr;
  bool absorbed_ = false;
  bool forced_ = false;
  bool success_ = false;
};

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
  const int rc = entry.other<WaitFunction>(Function::Wait)(&requests[index], status);
  *index_out = static_cast<int>(index);
  return rc;
}

// Waits for exactly the reported requests, by one Waitall, so that errors come as MPI_ERR_IN_STATUS as they did.
inline int wait_for_some(Entry& entry, MPI_Request* requests, const std::vector<std::uint32_t>& list, int* outcount,
                         int* indices, MPI_Status* statuses) {
  Room<MPI_Request> chosen(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) chosen[i] = requests[list[i]];
  const int rc =
      entry.other<WaitallFunction>(Function::Waitall)(static_cast<int>(list.size()), chosen.data(), statuses);
  for (std::size_t i = 0; i < list.size(); ++i) {
    requests[list[i]] = chosen[i];
    indices[i] = static_cast<int>(list[i]);
  }
  *outcount = static_cast<int>(list.size());
  return rc;
}

inline bool is_index(int index, int count) { return index >= 0 && index < count; }
inline bool is_count(int outcount, int count) { return outcount >= 0 && outcount <= count; }

template <class Real>
int Wait(Entry& entry, Real real, MPI_Request* request, MPI_Status* status) {
  entry.begin(completion_call(1));
  Watch watch(1, request, status, status == MPI_STATUS_IGNORE, true);
  auto settle = [&] { watch.completed(1, same_index); };
  int rc;
  {
    InFlight in_flight(settle);
    rc = real(request, watch.statuses());
  }
  settle();
  entry.end();
  return rc;
}

template <class Real>
int Waitall(Entry& entry, Real real, int count, MPI_Request* requests, MPI_Status* statuses) {
  entry.begin(completion_call(count));
  Watch watch(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
  auto settle = [&] { watch.completed(count > 0 ? static_cast<std::size_t>(count) : 0, same_index); };
  int rc;
  {
    InFlight in_flight(settle);
    rc = real(count, requests, watch.statuses());
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
    rc = real(count, requests, index, watch.statuses());
    const bool undefined = !is_index(*index, count);
    record_indices(std::span<const int>(index, undefined ? 0 : 1), undefined);
    if (!undefined) watch.completed(1, [&](std::size_t) { return static_cast<std::size_t>(*index); });
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
    rc = real(count, requests, outcount, indices, watch.statuses());
    const bool undefined = !is_count(*outcount, count);
    const auto reported = undefined ? 0 : static_cast<std::size_t>(*outcount);
    record_indices(std::span<const int>(indices, reported), undefined);
    watch.completed(reported, [&](std::size_t i) { return static_cast<std::size_t>(indices[i]); });
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
    rc = entry.other<WaitFunction>(Function::Wait)(request, status);
    *flag = 1;
  } else {
    Watch watch(1, request, status, status == MPI_STATUS_IGNORE, true);
    rc = real(request, flag, watch.statuses());
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    if (success) watch.completed(1, same_index);
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
    rc = entry.other<WaitallFunction>(Function::Waitall)(count, requests, statuses);
    *flag = 1;
  } else {
    Watch watch(count, requests, statuses, statuses == MPI_STATUSES_IGNORE, false);
    rc = real(count, requests, flag, watch.statuses());
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    if (success) watch.completed(count > 0 ? static_cast<std::size_t>(count) : 0, same_index);
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
    rc = real(count, requests, index, flag, watch.statuses());
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    const bool undefined = !is_index(*index, count);
    if (success) record_indices(std::span<const int>(index, undefined ? 0 : 1), undefined);
    if (success && !undefined) watch.completed(1, [&](std::size_t) { return static_cast<std::size_t>(*index); });
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
    rc = real(count, requests, outcount, indices, watch.statuses());
    const bool undefined = !is_count(*outcount, count);
    const auto reported = undefined ? 0 : static_cast<std::size_t>(*outcount);
    const bool success = *outcount != 0 || rc != MPI_SUCCESS;
    poll.answered(success);
    if (success) record_indices(std::span<const int>(indices, reported), undefined);
    watch.completed(reported, [&](std::size_t i) { return static_cast<std::size_t>(indices[i]); });
  }
  entry.end();
  return rc;
}

template <class Real>
int Request_free(Entry& entry, Real real, MPI_Request* request) {
  entry.begin(completion_call(1));
  int rc = MPI_SUCCESS;
  bool kept = false;
  if (entry.recording() && pending_receives().any()) {
    Session::Lock lock(Session::get());
    kept = pending_receives().freed(*request);
  }
  if (kept) *request = handles().request_null;
  else rc = real(request);
  entry.end();
  return rc;
}

template <class Real>
int Cancel(Entry& entry, Real real, MPI_Request* request) {
  entry.unsupported("whether it came in time");
  entry.begin(completion_call(1));
  if (entry.recording() && pending_receives().any()) {
    Session::Lock lock(Session::get());
    pending_receives().cancelled(*request);
  }
  const int rc = real(request);
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
