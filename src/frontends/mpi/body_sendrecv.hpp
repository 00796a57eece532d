// MPI_Sendrecv and its like: a receive that may hear anybody, and a send beside it.
//
// Where the receive has no outcome in the log, because the run ended before a message came, the send has happened all
// the same, and a peer may have got it.
#pragma once

#include <type_traits>

#include "frontends/mpi/body_receive.hpp"

namespace reprise::mpi::bodies {

// The send half alone, without waiting for it.
template <class Count>
void send_half(Entry& entry, const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  using Isend = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  constexpr Function function = std::is_same_v<Count, int> ? Function::Isend : Function::Isend_c;
  MPI_Request request = handles().request_null;
  if (entry.other<Isend>(function)(buf, count, type, dest, tag, comm, &request) == MPI_SUCCESS)
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

// A wildcard whose sender nobody can know is not forced: the log says so, and the replay posts it as it is.
template <class Count, class Post>
int combined_receive(Entry& entry, const Call& call, const void* buf, Count count, MPI_Datatype type, int dest,
                     int stag, int source, int rtag, MPI_Comm comm, MPI_Request* request, Post post) {
  if (source == MPI_ANY_SOURCE && !combined_receive_tells_sender()) {
    entry.unsupported("the MPI library does not tell whom a combined receive from any source heard");
    const int rc = post(source, rtag, request);
    entry.posted(rc, request);
    return rc;
  }
  return nonblocking_receive(entry, call.values[engine::kComm], source, rtag, request, post,
                             [&] { send_half(entry, buf, count, type, dest, stag, comm); });
}

template <class Real, class Count>
int Isendrecv(Entry& entry, Real real, const void* sbuf, Count scount, MPI_Datatype stype, int dest, int stag,
              void* rbuf, Count rcount, MPI_Datatype rtype, int source, int rtag, MPI_Comm comm, MPI_Request* request) {
  const Call call = sendrecv_call(comm, dest, stag, scount, stype);
  entry.begin(call);
  const int rc =
      combined_receive(entry, call, sbuf, scount, stype, dest, stag, source, rtag, comm, request,
                       [&](int from, int with, MPI_Request* made) {
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
  const int rc = combined_receive(entry, call, buf, count, type, dest, stag, source, rtag, comm, request,
                                  [&](int from, int with, MPI_Request* made) {
                                    return real(buf, count, type, dest, stag, from, with, comm, made);
                                  });
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
