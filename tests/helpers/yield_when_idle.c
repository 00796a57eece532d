// Preloaded into the tests' MPICH programs: a rank that waits lets others run.
//
// MPICH waits by asking UCX again and again. Where there are more ranks than processors, most of them do nothing but that, for as long
// as the system lets them. Open MPI has a setting for this (mpi_yield_when_idle), MPICH 4.0 has none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

enum { kPatience = 20 };  // questions in a row that found nothing to do

unsigned ucp_worker_progress(void* worker) {
  static unsigned (*real)(void*);
  static _Thread_local int idle;
  unsigned (*progress)(void*) = __atomic_load_n(&real, __ATOMIC_RELAXED);
  if (progress == NULL) {
    progress = (unsigned (*)(void*))dlsym(RTLD_NEXT, "ucp_worker_progress");
    __atomic_store_n(&real, progress, __ATOMIC_RELAXED);
  }
  const unsigned done = progress(worker);
  if (done != 0) idle = 0;
  else if (++idle > kPatience) sched_yield();
  return done;
}
