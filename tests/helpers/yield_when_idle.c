// Preloaded into the tests' MPICH programs: a rank that waits lets others run.
//
// MPICH waits by asking UCX again and again. Where there are more ranks than processors, most of them do nothing but that, for as long
// as the system lets them. Open MPI has a setting for this (mpi_yield_when_idle), MPICH 4.0 has none.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stddef.h>

enum { kPatience = 20 };  // questions in a row that found nothing to do
static const char kName[] = "ucp_worker_progress";
typedef unsigned Progress(void*);

static Progress* find(void) {
  Progress* const next = (Progress*)dlsym(RTLD_NEXT, kName);
  if (next != NULL) return next;
  void* const library = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);  // of a program that loads its MPI library for itself
  return library != NULL ? (Progress*)dlsym(library, kName) : NULL;
}

unsigned ucp_worker_progress(void* worker) {
  static Progress* known;
  static _Thread_local int idle;
  Progress* progress = __atomic_load_n(&known, __ATOMIC_RELAXED);
  if (progress == NULL) {
    progress = find();
    __atomic_store_n(&known, progress, __ATOMIC_RELAXED);
  }
  const unsigned done = progress(worker);
  if (done != 0) idle = 0;
  else if (++idle > kPatience) sched_yield();
  return done;
}
