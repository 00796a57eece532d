// MPI_Recv and MPI_Irecv: who was heard, when anybody could be.
//
// Recording: a wildcard receive gets its slot in the log before it is posted; the slot is filled when the sender is
// known. Replaying: the receive is posted for exactly that sender and tag; with the source fixed, MPI's non-overtaking
// rule settles the rest. A receive from a named source decides nothing, also with MPI_ANY_TAG.
#pragma once

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/idle_request.hpp"
#include "frontends/mpi/pending_receives.hpp"
#include "frontends/mpi/status.hpp"

namespace reprise::mpi::bodies {

using engine::Session;

inline Call receive_call(MPI_Comm comm, int source, int tag) {
  Call call;
  call.comm(comm);
  call.peer(source);
  call.tag(tag);
  return call;
}

// A blocking wildcard receive while recording.
template <class Receive>
int record_wildcard(const Call& call, MPI_Status* status, Receive receive) {
  Session& session = Session::get();
  engine::WildcardSlot slot;
  {
    Session::Lock lock(session);
    slot = session.recorder().wildcard();
  }
  ObservedStatus observed(status);
  auto settle = [&] {
    Session::Lock lock(session);
    const bool known = observed.filled();
    session.recorder().resolve_blocking(
        slot, known ? trace::kSourceBase + static_cast<std::uint32_t>(observed->MPI_SOURCE) : trace::kRefused,
        known ? observed->MPI_TAG : 0);
    if (known) pending_receives().blocking_completed(call.values[engine::kComm], observed->MPI_TAG);
  };
  int rc;
  {
    InFlight in_flight(settle);
    rc = receive(observed.get());
  }
  settle();
  return rc;
}

// The sender that a wildcard receive heard in the recorded run. Does not return if the run was cut off before.
inline engine::WildcardOutcome replayed_wildcard(bool blocking) {
  Session& session = Session::get();
  engine::WildcardOutcome outcome;
  session.insist(session.replayer().wildcard(outcome));
  if (outcome.code == trace::kAmbiguous)
    session.supervisor().warn("the recorded run could not see which message the receive of call " +
                              std::to_string(session.replayer().next_event() - 1) +
                              " took; this replay may differ from there on");
  if (blocking && outcome.code == trace::kPending) session.at_end();
  return outcome;
}

template <class Real, class Count>
int Recv(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status) {
  Call call = receive_call(comm, source, tag);
  call.bytes(count, type);
  entry.begin(call);
  PendingReceives& pending = pending_receives();
  int rc;
  if (entry.recording() && source == MPI_ANY_SOURCE) {
    rc = record_wildcard(call, status,
                         [&](MPI_Status* into) { return real(buf, count, type, source, tag, comm, into); });
  } else if (entry.recording() && pending.any_unknown()) {
    ObservedStatus observed(status);
    rc = real(buf, count, type, source, tag, comm, observed.get());
    Session::Lock lock(Session::get());
    if (observed.filled()) pending.blocking_completed(call.values[engine::kComm], observed->MPI_TAG);
  } else if (entry.replaying()) {
    if (source == MPI_ANY_SOURCE) {
      const engine::WildcardOutcome outcome = replayed_wildcard(true);
      if (outcome.code >= trace::kSourceBase) {
        source = static_cast<int>(outcome.code - trace::kSourceBase);
        tag = outcome.tag;
      }
    }
    Session::get().supervisor().waits_for(communicators().world_rank(call.values[engine::kComm], source));
    rc = real(buf, count, type, source, tag, comm, status);
  } else {
    rc = real(buf, count, type, source, tag, comm, status);
  }
  entry.end();
  return rc;
}

template <class Real, class Count>
int Irecv(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request) {
  Call call = receive_call(comm, source, tag);
  call.bytes(count, type);
  entry.begin(call);
  PendingReceives& pending = pending_receives();
  Session& session = Session::get();
  const auto number = call.values[engine::kComm];
  const auto wanted = static_cast<std::int32_t>(call.values[engine::kTag]);
  int rc;
  if (entry.recording() && source == MPI_ANY_SOURCE) {
    engine::WildcardSlot slot;
    {
      Session::Lock lock(session);
      slot = session.recorder().wildcard();
    }
    rc = real(buf, count, type, source, tag, comm, request);
    Session::Lock lock(session);
    if (rc == MPI_SUCCESS) pending.posted_wildcard(*request, number, wanted, slot);
    else session.recorder().resolve(slot, trace::kRefused, 0);
  } else if (entry.recording()) {
    rc = real(buf, count, type, source, tag, comm, request);
    if (rc == MPI_SUCCESS && source != MPI_PROC_NULL && pending.any_unknown()) {
      Session::Lock lock(session);
      pending.posted_specific(*request, number, wanted);
    }
  } else if (entry.replaying() && source == MPI_ANY_SOURCE) {
    const engine::WildcardOutcome outcome = replayed_wildcard(false);
    if (outcome.code >= trace::kSourceBase)
      rc = real(buf, count, type, static_cast<int>(outcome.code - trace::kSourceBase), outcome.tag, comm, request);
    else if (outcome.code == trace::kUnmatched) rc = idle_request(request);
    else  // refused again; or nobody saw what it took, and no receive after it could have wanted that
          // (pending_receives)
      rc = real(buf, count, type, source, tag, comm, request);
  } else {
    rc = real(buf, count, type, source, tag, comm, request);
  }
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
