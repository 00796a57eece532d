// What else a program can do with a request: start, ask about, cancel and free it.
#pragma once

#include "engine/session.hpp"
#include "frontends/mpi/body_completion.hpp"
#include "frontends/mpi/body_receive.hpp"
#include "frontends/mpi/combined_receive.hpp"
#include "frontends/mpi/persistent.hpp"
#include "frontends/mpi/poll.hpp"

namespace reprise::mpi::bodies {

// --- persistent requests
// ----------------------------------------------------------------------------------------------

template <class Real, class Count>
int Recv_init(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request) {
  Call call = receive_call(comm, source, tag);
  call.bytes(count, type);
  entry.begin(call);
  const int rc = real(buf, count, type, source, tag, comm, request);
  if (rc == MPI_SUCCESS && (source == MPI_ANY_SOURCE || entry.recording())) {
    Session::Lock lock(Session::get());
    persistent_receives().made(*request, {.buffer = buf,
                                          .count = static_cast<MPI_Count>(count),
                                          .type = type,
                                          .source = source,
                                          .tag = tag,
                                          .comm = comm,
                                          .comm_number = call.values[engine::kComm],
                                          .receive = true});
  }
  entry.end();
  return rc;
}

// Starts in the order of the array, as the library does.
void record_starts(std::span<const engine::WildcardSlot> slots, std::span<MPI_Request> requests, int rc);
int replay_start(Entry& entry, MPI_Request* request);

template <class Start>
int start_all(Entry& entry, int count, MPI_Request* requests, Start start) {
  const std::span<MPI_Request> all(requests, count > 0 ? static_cast<std::size_t>(count) : 0);
  if (entry.replaying() && Session::get().replaying_now()) {
    for (MPI_Request& request : all)
      if (const int rc = replay_start(entry, &request); rc != MPI_SUCCESS) return rc;
    return MPI_SUCCESS;
  }
  Room<engine::WildcardSlot> slots(all.size());
  if (entry.recording()) {
    Session::Lock lock(Session::get());
    for (std::size_t i = 0; i < all.size(); ++i) {
      const PersistentReceive* receive = persistent_receives().find(all[i]);
      slots[i] =
          receive && receive->source == MPI_ANY_SOURCE ? Session::get().recorder().wildcard() : engine::WildcardSlot{};
    }
  }
  const int rc = start();
  if (entry.recording()) record_starts({slots.data(), all.size()}, all, rc);
  return rc;
}

template <class Real>
int Start(Entry& entry, Real real, MPI_Request* request) {
  entry.begin(completion_call(1));
  const int rc = start_all(entry, 1, request, [&] { return real(request); });
  entry.end();
  return rc;
}

template <class Real>
int Startall(Entry& entry, Real real, int count, MPI_Request* requests) {
  entry.begin(completion_call(count));
  const int rc = start_all(entry, count, requests, [&] { return real(count, requests); });
  entry.end();
  return rc;
}

// --- questions
// --------------------------------------------------------------------------------------------------------

template <class Real>
int Request_get_status(Entry& entry, Real real, MPI_Request request, int* flag, MPI_Status* status) {
  Poll poll(entry, completion_call(1));
  int rc = MPI_SUCCESS;
  if (poll.must_fail()) {
    *flag = 0;
  } else if (poll.must_succeed()) {
    Substituted substituted(1, &request);
    rc = ask_until_true(flag, [&] {
      poke_combined();
      return real(*substituted.data(), flag, status);
    });
  } else {
    poke_combined();
    MPI_Status own{};
    MPI_Status* const observed = status == MPI_STATUS_IGNORE ? &own : status;
    rc = poll.ask([&] { return real(request, flag, observed); });
    const bool success = *flag || rc != MPI_SUCCESS;
    poll.answered(success);
    if (entry.recording() && success && rc == MPI_SUCCESS && pending_receives().any()) {
      Session::Lock lock(Session::get());
      pending_receives().seen(request, *observed);
    }
  }
  entry.end();
  return rc;
}

template <class Real>
int Parrived(Entry& entry, Real real, MPI_Request request, int partition, int* flag) {
  Poll poll(entry, completion_call(partition));
  int rc = MPI_SUCCESS;
  if (poll.must_fail()) {
    *flag = 0;
  } else if (poll.must_succeed()) {
    rc = ask_until_true(flag, [&] { return real(request, partition, flag); });
  } else {
    rc = real(request, partition, flag);
    poll.answered(*flag || rc != MPI_SUCCESS);
  }
  entry.end();
  return rc;
}

// --- the end
// ----------------------------------------------------------------------------------------------------------

template <class Real>
int Request_free(Entry& entry, Real real, MPI_Request* request) {
  entry.begin(completion_call(1));
  int rc = MPI_SUCCESS;
  bool kept = false;
  const MPI_Request handle = *request;
  if (entry.recording() && pending_receives().any()) {
    Session::Lock lock(Session::get());
    kept = pending_receives().freed(handle);
  }
  if (kept) *request = handles().request_null;
  else rc = real(request);
  if (rc == MPI_SUCCESS && persistent_receives().any()) {
    Session::Lock lock(Session::get());
    persistent_receives().freed(handle);
  }
  entry.end();
  return rc;
}

// Recording: did it come in time? By MPI's rules that is decided by now for a receive (cancelling is local).
void record_cancel(Entry& entry, MPI_Request request);

// Replaying: what was cancelled in time is idle from the beginning and can be cancelled any time; what was not, was
// matched, and must not be cancelled now, when its message may not be there yet.
template <class Real>
int replay_cancel(Real real, MPI_Request* request) {
  const auto post = g_posts.find(*request);
  if (*request != handles().request_null && (!post || post->kind == Posts::Kind::Ordinary)) return MPI_SUCCESS;
  Substituted substituted(1, request);
  return real(substituted.data());
}

template <class Real>
int Cancel(Entry& entry, Real real, MPI_Request* request) {
  entry.begin(completion_call(1));
  int rc;
  if (entry.replaying()) {
    rc = replay_cancel(real, request);
  } else {
    if (entry.recording()) {
      Session::Lock lock(Session::get());
      pending_receives().cancelled(*request);
    }
    rc = real(request);
    if (entry.recording() && rc == MPI_SUCCESS) record_cancel(entry, *request);
  }
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
