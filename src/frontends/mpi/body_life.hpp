// The calls that begin and end a rank's log, and those that make and free what the log numbers.
#pragma once

#include "engine/session.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"

namespace reprise::mpi::bodies {

using engine::Session;

// The same in a process whose copies are to be explored: returns in each copy.
void become_virtual_rank(Entry& entry, int thread_level);
// After MPI_Init or MPI_Init_thread has succeeded.
void mpi_started(int thread_level);
// Before and after MPI_Finalize.
void mpi_ends();
void mpi_ended();
void mpi_aborts(int code);

template <class Real>
int Init(Entry& entry, Real real, int* argc, char*** argv) {
  if (entry.passive()) return real(argc, argv);
  entry.begin(Call{});
  Session::get().arrives();
  const int rc = real(argc, argv);
  if (rc == MPI_SUCCESS && engine::mode() == Mode::Explore) become_virtual_rank(entry, MPI_THREAD_SINGLE);
  if (rc == MPI_SUCCESS) mpi_started(MPI_THREAD_SINGLE);
  entry.end();
  return rc;
}

template <class Real>
int Init_thread(Entry& entry, Real real, int* argc, char*** argv, int required, int* provided) {
  if (entry.passive()) return real(argc, argv, required, provided);
  entry.begin(Call{});
  Session::get().arrives();
  const int rc = real(argc, argv, required, provided);
  if (rc == MPI_SUCCESS && engine::mode() == Mode::Explore) become_virtual_rank(entry, *provided);
  if (rc == MPI_SUCCESS) mpi_started(*provided);
  entry.end();
  return rc;
}

template <class Real>
int Finalize(Entry& entry, Real real) {
  if (entry.passive()) return real();
  entry.begin(Call{});
  mpi_ends();
  const int rc = real();
  entry.end();
  mpi_ended();
  return rc;
}

// Also from inside another call (an error handler): the log must be closed before the process is gone.
template <class Real>
int Abort(Entry& entry, Real real, MPI_Comm comm, int code) {
  if (!entry.passive()) {
    Call call;
    call.comm(comm);
    call.count(code);
    entry.begin(call);
  }
  mpi_aborts(code);
  return real(comm, code);
}

template <class Real>
double Wtime(Entry& entry, Real real) {
  Session& session = Session::get();
  if (!session.attached()) return real();  // before MPI_Init there is no log to take an outcome from
  entry.begin(Call{});
  double value = 0;
  if (entry.replaying() && session.replaying_now()) {
    session.insist(session.replayer().time(value));
  } else {
    value = real();
    if (entry.recording()) {
      Session::Lock lock(session);
      session.recorder().time(value);
    }
  }
  entry.end();
  return value;
}

template <class Real>
int Comm_free(Entry& entry, Real real, MPI_Comm* comm) {
  Call call;
  call.comm(*comm);
  entry.begin(call);
  const MPI_Comm freed = *comm;
  const int rc = real(comm);
  if (rc == MPI_SUCCESS) communicators().freed(freed);
  entry.end();
  return rc;
}

template <class Real>
int Comm_disconnect(Entry& entry, Real real, MPI_Comm* comm) {
  return Comm_free(entry, real, comm);
}

template <class Real>
int Type_free(Entry& entry, Real real, MPI_Datatype* type) {
  entry.begin(Call{});
  const int rc = real(type);
  forget_handles();
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
