// MPI_Recv, MPI_Irecv, and what all calls that take a message have in common: who was heard, when anybody could be.
//
// Recording: a wildcard receive gets its slot in the log before it is posted; the slot is filled when the sender is
// known. Replaying: the receive is posted for exactly that sender and tag; with the source fixed, MPI's non-overtaking
// rule settles the rest. A receive from a named source decides nothing, also with MPI_ANY_TAG.
#pragma once

#include "engine/session.hpp"
#include "frontends/mpi/body_send.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/give_way.hpp"
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

// The sender that a wildcard receive heard in the recorded run.
inline engine::WildcardOutcome replayed_wildcard() {
  Session& session = Session::get();
  engine::WildcardOutcome outcome;
  session.insist(session.replayer().wildcard(outcome));
  if (outcome.code == trace::kAmbiguous)
    session.supervisor().warn("the recorded run could not see which message the receive of call " +
                              std::to_string(session.replayer().next_event() - 1) +
                              " took; this replay may differ from there on");
  return outcome;
}

// For the replay command: whom this call waits for.
inline void waits_for(const Call& call, int source) {
  if (Session::get().solo()) return;  // it will not come from there
  Session::get().supervisor().waits_for(communicators().world_rank(call.values[engine::kComm], source));
}

// A blocking call that takes a message, or shows one: `receive` makes it, with a source, a tag and a status. `cut_off`
// is what else it does if the recorded run ended before a message came.
template <class Receive, class CutOff>
int blocking_receive(Entry& entry, const Call& call, int source, int tag, MPI_Status* status, Receive receive,
                     CutOff cut_off) {
  PendingReceives& pending = pending_receives();
  if (entry.recording() && source == MPI_ANY_SOURCE)
    return record_wildcard(call, status, [&](MPI_Status* into) { return receive(source, tag, into); });
  if (entry.recording() && pending.any_unknown()) {
    ObservedStatus observed(status);
    const int rc = receive(source, tag, observed.get());
    Session::Lock lock(Session::get());
    if (observed.filled()) pending.blocking_completed(call.values[engine::kComm], observed->MPI_TAG);
    return rc;
  }
  if (entry.replaying()) {
    if (source == MPI_ANY_SOURCE) {
      const engine::WildcardOutcome outcome = replayed_wildcard();
      if (outcome.code == trace::kPending) {
        cut_off();
        Session::get().at_end();
      }
      if (outcome.code >= trace::kSourceBase) {
        source = static_cast<int>(outcome.code - trace::kSourceBase);
        tag = outcome.tag;
      }
    }
    waits_for(call, source);
  }
  return receive(source, tag, status);
}

inline void nothing_else() {}

// Before a call that can only wait for a message from there.
inline void await_message(Entry& entry, const Call& call, int source, int tag, MPI_Comm comm) {
  if (g_gives_way && is_message(call, source, tag)) [[unlikely]]
    give_way_for_message(entry, source, tag, comm);
}

// A call that posts a receive: `post` makes it, with a source, a tag and the request. `idle` is what else it does if
// the recorded receive never took a message.
template <class Post, class Idle>
int nonblocking_receive(Entry& entry, std::int64_t comm, int source, int tag, MPI_Request* request, Post post,
                        Idle idle) {
  PendingReceives& pending = pending_receives();
  Session& session = Session::get();
  const auto wanted = static_cast<std::int32_t>(canonical_tag(tag));
  const bool any = source == MPI_ANY_SOURCE;
  int rc;
  if (entry.recording() && any) {
    engine::WildcardSlot slot;
    {
      Session::Lock lock(session);
      slot = session.recorder().wildcard();
    }
    rc = post(source, tag, request);
    Session::Lock lock(session);
    if (rc == MPI_SUCCESS) pending.posted_wildcard(*request, comm, wanted, slot);
    else session.recorder().resolve(slot, trace::kRefused, 0);
  } else if (entry.recording()) {
    rc = post(source, tag, request);
    if (rc == MPI_SUCCESS && source != MPI_PROC_NULL && pending.any_unknown()) {
      Session::Lock lock(session);
      pending.posted_specific(*request, comm, wanted);
    }
  } else if (entry.replaying()) {
    bool matched_nothing = entry.post_is_cancelled();
    if (any) {
      const engine::WildcardOutcome outcome = replayed_wildcard();
      matched_nothing = outcome.code == trace::kUnmatched;
      if (outcome.code >= trace::kSourceBase) {
        source = static_cast<int>(outcome.code - trace::kSourceBase);
        tag = outcome.tag;
      }  // else it is refused again; or nobody saw what it took, and no receive after it could have wanted that
    }
    if (matched_nothing) {
      idle();
      rc = idle_request(request);
      entry.posted(rc, request, Posts::Kind::Idle);
      return rc;
    }
    rc = post(source, tag, request);
  } else {
    rc = post(source, tag, request);
  }
  entry.posted(rc, request);
  return rc;
}

template <class Real, class Count>
int Recv(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
         MPI_Status* status) {
  Call call = receive_call(comm, source, tag);
  call.bytes(count, type);
  entry.begin(call);
  const int rc = blocking_receive(
      entry, call, source, tag, status,
      [&](int from, int with, MPI_Status* into) {
        const bool in_order = Session::get().orders_posts();
        const bool gives_way = g_gives_way && g_errors_are_fatal && !in_order && is_message(call, from, with);
        if (!in_order && !gives_way) [[likely]] {
          await_message(entry, call, from, with, comm);
          return real(buf, count, type, from, with, comm, into);
        }
        using Post = int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
        const auto post = [&](MPI_Request* request) {
          return entry.other<Post>(form_of<Count>(Function::Irecv, Function::Irecv_c))(buf, count, type, from, with,
                                                                                       comm, request);
        };
        if (!gives_way) return post_and_wait(entry, into, post);
        return post_and_give_way(entry, into, post,
                                 [&] { return real(buf, count, type, from, with, comm, into); });
      },
      nothing_else);
  entry.end();
  return rc;
}

template <class Real, class Count>
int Irecv(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
          MPI_Request* request) {
  Call call = receive_call(comm, source, tag);
  call.bytes(count, type);
  entry.begin(call);
  const int rc = nonblocking_receive(
      entry, call.values[engine::kComm], source, tag, request,
      [&](int from, int with, MPI_Request* made) { return real(buf, count, type, from, with, comm, made); },
      nothing_else);
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
