// Probes: which message was shown (MPI_Probe, MPI_Iprobe) or taken out of the queue (MPI_Mprobe, MPI_Improbe).
//
// A probe decides like a receive: the sender is logged and, in replay, only that sender is probed for. A nonblocking
// probe is a poll as well: its failures are counted, and its success becomes a blocking probe. What MPI_Mrecv gets was
// decided by the probe that found it.
#pragma once

#include <sched.h>

#include "frontends/mpi/body_receive.hpp"
#include "frontends/mpi/poll.hpp"

namespace reprise::mpi::bodies {

template <class Real>
int Probe(Entry& entry, Real real, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const Call call = receive_call(comm, source, tag);
  entry.begin(call);
  const int rc = blocking_receive(
      entry, call, source, tag, status,
      [&](int from, int with, MPI_Status* into) {
        await_message(entry, call, from, with, comm);
        return real(from, with, comm, into);
      },
      nothing_else);
  entry.end();
  return rc;
}

// MPI_Mprobe while several threads may take messages at once: the one that gets it has its turn at that moment.
inline int take_in_order(Entry& entry, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  using Improbe = int (*)(int, int, MPI_Comm, int*, MPI_Message*, MPI_Status*);
  Session& session = Session::get();
  for (;;) {
    int flag = 0;
    session.begin_poll();
    const int rc = entry.other<Improbe>(Function::Improbe)(source, tag, comm, &flag, message, status);
    if (flag || rc != MPI_SUCCESS) session.poll_succeeded(source != MPI_ANY_SOURCE);  // otherwise there is its slot
    session.posted();
    if (flag || rc != MPI_SUCCESS) return rc;
    sched_yield();
  }
}

template <class Real>
int Mprobe(Entry& entry, Real real, int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status) {
  const Call call = receive_call(comm, source, tag);
  entry.begin(call);
  const int rc = blocking_receive(
      entry, call, source, tag, status,
      [&](int from, int with, MPI_Status* into) {
        if (Session::get().orders_posts() && entry.recording()) [[unlikely]]
          return take_in_order(entry, from, with, comm, message, into);
        Session::get().poll_succeeded();
        await_message(entry, call, from, with, comm);
        return real(from, with, comm, message, into);
      },
      nothing_else);
  entry.end();
  return rc;
}

// `probe` asks once, `wait` until there is a message. With threads it gives way meanwhile: another thread may have to
// do thousands of things before, on the same core, and a blocking probe spins. So it does with too few cores.
template <class Probe, class Wait>
int poll_for_message(Entry& entry, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status, Probe probe,
                     Wait wait) {
  const Call call = receive_call(comm, source, tag);
  Poll poll(entry, call);
  if (poll.must_fail()) {
    *flag = 0;
    return MPI_SUCCESS;
  }
  if (poll.must_succeed()) {
    if (source == MPI_ANY_SOURCE) {
      const engine::WildcardOutcome outcome = replayed_wildcard();
      if (outcome.code == trace::kPending) Session::get().at_end();
      if (outcome.code >= trace::kSourceBase) {
        source = static_cast<int>(outcome.code - trace::kSourceBase);
        tag = outcome.tag;
      }
    }
    waits_for(call, source);
    *flag = 1;
    return wait(source, tag, status);
  }
  ObservedStatus observed(status);
  const int rc = probe(observed.get());
  const bool success = *flag || rc != MPI_SUCCESS;
  poll.answered(success);
  if (entry.recording() && success) {
    Session::Lock lock(Session::get());
    const bool known = rc == MPI_SUCCESS && observed.filled();
    if (source == MPI_ANY_SOURCE)
      Session::get().recorder().shown(
          known ? trace::kSourceBase + static_cast<std::uint32_t>(observed->MPI_SOURCE) : trace::kRefused,
          known ? observed->MPI_TAG : 0);
    if (known) pending_receives().blocking_completed(call.values[engine::kComm], observed->MPI_TAG);
  }
  return rc;
}

template <class Real>
int Iprobe(Entry& entry, Real real, int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status) {
  using Blocking = int (*)(int, int, MPI_Comm, MPI_Status*);
  const int rc = poll_for_message(
      entry, source, tag, comm, flag, status, [&](MPI_Status* into) { return real(source, tag, comm, flag, into); },
      [&](int from, int with, MPI_Status* into) {
        if (engine::has_threads() || g_gives_way) [[unlikely]]
          return ask_until_true(flag, [&] { return real(from, with, comm, flag, into); });
        return entry.other<Blocking>(Function::Probe)(from, with, comm, into);
      });
  entry.end();
  return rc;
}

template <class Real>
int Improbe(Entry& entry, Real real, int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
            MPI_Status* status) {
  using Blocking = int (*)(int, int, MPI_Comm, MPI_Message*, MPI_Status*);
  const int rc = poll_for_message(
      entry, source, tag, comm, flag, status,
      [&](MPI_Status* into) { return real(source, tag, comm, flag, message, into); },
      [&](int from, int with, MPI_Status* into) {
        if (engine::has_threads() || g_gives_way) [[unlikely]]
          return ask_until_true(flag, [&] { return real(from, with, comm, flag, message, into); });
        return entry.other<Blocking>(Function::Mprobe)(from, with, comm, message, into);
      });
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
