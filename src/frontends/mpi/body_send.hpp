// MPI_Send and its kin, which decide nothing. If several threads call MPI at once, the order in which they send must be
// known, and a send that waits cannot be ordered: it is posted, in order, and then waited for (MPI 4.0, 3.7: that is
// what it means).
#pragma once

#include <type_traits>

#include "engine/session.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/give_way.hpp"

namespace reprise::mpi::bodies {

using engine::Session;

// Posts an operation and waits for it outside the order of posts.
template <class Post>
int post_and_wait(Entry& entry, MPI_Status* status, Post post) {
  MPI_Request request = handles().request_null;
  const int rc = post(&request);
  entry.posted(rc, &request);  // others may post the same way meanwhile: each has a number of its own
  Session::get().posted();
  if (rc != MPI_SUCCESS) return rc;
  return entry.other<int (*)(MPI_Request*, MPI_Status*)>(Function::Wait)(&request, status);
}

// The form for large counts has its own nonblocking counterpart.
template <class Count>
Function form_of(Function small, Function large) {
  return std::is_same_v<Count, int> ? small : large;
}

template <class Real, class Count>
int send(Entry& entry, Real real, Function nonblocking, const void* buf, Count count, MPI_Datatype type, int dest,
         int tag, MPI_Comm comm) {
  Call call;
  call.comm(comm);
  call.peer(dest);
  call.tag(tag);
  call.bytes(count, type);
  entry.begin(call);
  int rc;
  if (Session::get().orders_posts()) [[unlikely]] {
    using Post = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
    rc = post_and_wait(entry, MPI_STATUS_IGNORE, [&](MPI_Request* request) {
      return entry.other<Post>(nonblocking)(buf, count, type, dest, tag, comm, request);
    });
  } else if (g_gives_way && is_message(call, dest, tag)) [[unlikely]] {
    using Post = int (*)(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
    rc = post_and_give_way(
        entry, MPI_STATUS_IGNORE,
        [&](MPI_Request* request) {
          return entry.other<Post>(nonblocking)(buf, count, type, dest, tag, comm, request);
        },
        [&] { return real(buf, count, type, dest, tag, comm); });
  } else {
    rc = real(buf, count, type, dest, tag, comm);
  }
  entry.end();
  return rc;
}

template <class Real, class Count>
int Send(Entry& entry, Real real, const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send(entry, real, form_of<Count>(Function::Isend, Function::Isend_c), buf, count, type, dest, tag, comm);
}
template <class Real, class Count>
int Ssend(Entry& entry, Real real, const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send(entry, real, form_of<Count>(Function::Issend, Function::Issend_c), buf, count, type, dest, tag, comm);
}
template <class Real, class Count>
int Rsend(Entry& entry, Real real, const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  return send(entry, real, form_of<Count>(Function::Irsend, Function::Irsend_c), buf, count, type, dest, tag, comm);
}

}  // namespace reprise::mpi::bodies
