// MPI_Sendrecv and its like: a receive that may hear anybody, and a send beside it.
//
// Where the receive has no outcome in the log, because the run ended before a message came, the send has happened all
// the same, and a peer may have got it.
#pragma once

#include <cstdlib>
#include <type_traits>

#include "frontends/mpi/body_receive.hpp"
#include "frontends/mpi/combined_receive.hpp"

namespace reprise::mpi::bodies {

// The send half with a request of its own.
template <class Count>
int post_send(Entry& entry, const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request) {
  using Isend = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  constexpr Function function = std::is_same_v<Count, int> ? Function::Isend : Function::Isend_c;
  return entry.other<Isend>(function)(buf, count, type, dest, tag, comm, request);
}

// The send half alone, without waiting for it.
template <class Count>
void send_half(Entry& entry, const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  MPI_Request request = handles().request_null;
  if (post_send(entry, buf, count, type, dest, tag, comm, &request) == MPI_SUCCESS)
    entry.other<int (*)(MPI_Request*)>(Function::Request_free)(&request);
}

template <class Count>
Call sendrecv_call(MPI_Comm comm, int dest, int tag, Count count, MPI_Datatype type) {
  Call call;
  call.comm(comm);
  call.peer(dest);
  call.tag(tag);
  call.bytes(count, type);
  return call;
}

template <class Real, class Count>
int Sendrecv(Entry& entry, Real real, const void* sbuf, Count scount, MPI_Datatype stype, int dest, int stag,
             void* rbuf, Count rcount, MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, MPI_Status* status) {
  const Call call = sendrecv_call(comm, dest, stag, scount, stype);
  entry.begin(call);
  const int rc = blocking_receive(
      entry, call, source, rtag, status,
      [&](int from, int with, MPI_Status* into) {
        return real(sbuf, scount, stype, dest, stag, rbuf, rcount, rtype, from, with, comm, into);
      },
      [&] { send_half(entry, sbuf, scount, stype, dest, stag, comm); });
  entry.end();
  return rc;
}

template <class Real, class Count>
int Sendrecv_replace(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int dest, int stag, int source,
                     int rtag, MPI_Comm comm, MPI_Status* status) {
  const Call call = sendrecv_call(comm, dest, stag, count, type);
  entry.begin(call);
  const int rc = blocking_receive(
      entry, call, source, rtag, status,
      [&](int from, int with, MPI_Status* into) { return real(buf, count, type, dest, stag, from, with, comm, into); },
      [&] { send_half(entry, buf, count, type, dest, stag, comm); });
  entry.end();
  return rc;
}

// What MPI_Isendrecv has to say about its two halves.
template <class Count>
struct Halves {
  const void* sbuf;
  Count scount;
  MPI_Datatype stype;
  int dest;
  int stag;
  void* rbuf;
  Count rcount;
  MPI_Datatype rtype;
  int source;
  int rtag;
  MPI_Comm comm;
};

// For a library that does not tell whom a combined receive heard (combined_receive.hpp). `keep`: memory that the send
// needs to the end.
template <class Count>
int two_halves(Entry& entry, const Call& call, const Halves<Count>& halves, void* keep, MPI_Request* request) {
  using Irecv = int (*)(void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  constexpr Function function = std::is_same_v<Count, int> ? Function::Irecv : Function::Irecv_c;
  MPI_Request receive = handles().request_null;
  MPI_Request send = handles().request_null;
  int rc = nonblocking_receive(
      entry, call.values[engine::kComm], halves.source, halves.rtag, &receive,
      [&](int from, int with, MPI_Request* made) {
        return entry.other<Irecv>(function)(halves.rbuf, halves.rcount, halves.rtype, from, with, halves.comm, made);
      },
      nothing_else);
  if (rc == MPI_SUCCESS)
    rc = post_send(entry, halves.sbuf, halves.scount, halves.stype, halves.dest, halves.stag, halves.comm, &send);
  if (rc == MPI_SUCCESS) rc = combine(receive, send, keep, request);
  entry.posted(rc, request, Posts::Kind::Generalised);
  return rc;
}

template <class Count, class Post>
int one_request(Entry& entry, const Call& call, const Halves<Count>& halves, MPI_Request* request, Post post) {
  return nonblocking_receive(entry, call.values[engine::kComm], halves.source, halves.rtag, request, post, [&] {
    send_half(entry, halves.sbuf, halves.scount, halves.stype, halves.dest, halves.stag, halves.comm);
  });
}

inline bool needs_two_halves(Entry& entry, int source) {
  return source == MPI_ANY_SOURCE && (entry.recording() || entry.replaying()) && !combined_receive_tells_sender();
}

template <class Real, class Count>
int Isendrecv(Entry& entry, Real real, const void* sbuf, Count scount, MPI_Datatype stype, int dest, int stag,
              void* rbuf, Count rcount, MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, MPI_Request* request) {
  const Call call = sendrecv_call(comm, dest, stag, scount, stype);
  entry.begin(call);
  const Halves<Count> halves{sbuf, scount, stype, dest, stag, rbuf, rcount, rtype, source, rtag, comm};
  const int rc = needs_two_halves(entry, source)
                     ? two_halves(entry, call, halves, nullptr, request)
                     : one_request(entry, call, halves, request, [&](int from, int with, MPI_Request* made) {
                         return real(sbuf, scount, stype, dest, stag, rbuf, rcount, rtype, from, with, comm, made);
                       });
  entry.end();
  return rc;
}

template <class Real, class Count>
int Isendrecv_replace(Entry& entry, Real real, void* buf, Count count, MPI_Datatype type, int dest, int stag,
                      int source, int rtag, MPI_Comm comm, MPI_Request* request) {
  const Call call = sendrecv_call(comm, dest, stag, count, type);
  entry.begin(call);
  int rc;
  if (needs_two_halves(entry, source)) {
    // The buffer is about to be received into: what is to be sent is packed first.
    using PackSize = int (*)(Count, MPI_Datatype, MPI_Comm, Count*);
    using Pack = int (*)(const void*, Count, MPI_Datatype, void*, Count, Count*, MPI_Comm);
    constexpr bool kLarge = !std::is_same_v<Count, int>;
    Count size = 0;
    Count packed = 0;
    entry.other<PackSize>(kLarge ? Function::Pack_size_c : Function::Pack_size)(count, type, comm, &size);
    void* const copy = std::malloc(static_cast<std::size_t>(size) + 1);
    rc = copy ? entry.other<Pack>(kLarge ? Function::Pack_c : Function::Pack)(buf, count, type, copy, size, &packed,
                                                                              comm)
              : MPI_ERR_NO_MEM;
    if (rc == MPI_SUCCESS)
      rc = two_halves(entry, call,
                      Halves<Count>{copy, packed, handles().packed, dest, stag, buf, count, type, source, rtag, comm},
                      copy, request);
  } else {
    rc = one_request(entry, call, Halves<Count>{buf, count, type, dest, stag, buf, count, type, source, rtag, comm},
                     request, [&](int from, int with, MPI_Request* made) {
                       return real(buf, count, type, dest, stag, from, with, comm, made);
                     });
  }
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
