// What the threads of random programs do (see thread_phases.py). What a thread learns goes into its own digest; who passed a
// shared object before whom goes into the object's. Everything is inlined, so that every call in a generated program has
// a call site of its own.
#ifndef TESTS_RANDOM_THREAD_RUNTIME_H
#define TESTS_RANDOM_THREAD_RUNTIME_H

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "runtime.h"

#define INLINED static inline __attribute__((always_inline, unused))

enum { kObjects = 4, kThreads = 4, kRoom = 3, kSends = 64 };

typedef struct {
  int index;
  uint64_t seen;
  MPI_Request requests[kSends];
  uint64_t sent[kSends];
  int sends;
} Self;

typedef struct {
  pthread_mutex_t mutex;
  uint64_t order;
} Guarded;

static struct {
  Guarded locks[kObjects];
  pthread_rwlock_t rwlocks[kObjects];
  uint64_t rw_order[kObjects];
  pthread_spinlock_t spin;
  uint64_t spin_order;
  sem_t semaphore;
  uint64_t semaphore_order;
  pthread_once_t once[kObjects];
  int who[kObjects];
  pthread_barrier_t barrier;
  pthread_mutex_t queue_lock;
  pthread_cond_t not_empty, not_full, nudged;
  uint64_t queue[kRoom];
  int queued;
  pthread_mutex_t mpi_lock;  // for those who call MPI one at a time
} shared;

static __thread Self* this_thread;

static UNUSED uint64_t mix(uint64_t digest_so_far, uint64_t value) {
  const uint64_t x = (digest_so_far ^ value) * 1099511628211u;
  return x ^ (x >> 29);
}
INLINED void note(Self* self, uint64_t value) { self->seen = mix(self->seen, value); }
INLINED void pass(Self* self, uint64_t* order) {
  *order = mix(*order, (uint64_t)self->index + 1);
  note(self, *order);
}

INLINED void locked(Self* self, int i, unsigned us) {
  pthread_mutex_lock(&shared.locks[i].mutex);
  pass(self, &shared.locks[i].order);
  if (us) jitter(us);
  pthread_mutex_unlock(&shared.locks[i].mutex);
}
INLINED void nested(Self* self, int outer, int inner) {  // outer < inner: nobody waits in a circle
  pthread_mutex_lock(&shared.locks[outer].mutex);
  pass(self, &shared.locks[outer].order);
  locked(self, inner, 0);
  pthread_mutex_unlock(&shared.locks[outer].mutex);
}
INLINED void tried(Self* self, int i) {
  const int result = pthread_mutex_trylock(&shared.locks[i].mutex);
  note(self, (uint64_t)result);
  if (result) return;
  pass(self, &shared.locks[i].order);
  pthread_mutex_unlock(&shared.locks[i].mutex);
}
INLINED void timed(Self* self, int i, long us) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += us * 1000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  const int result = pthread_mutex_timedlock(&shared.locks[i].mutex, &until);
  note(self, (uint64_t)result);
  if (result) return;
  pass(self, &shared.locks[i].order);
  pthread_mutex_unlock(&shared.locks[i].mutex);
}
INLINED void read_locked(Self* self, int i) {
  pthread_rwlock_rdlock(&shared.rwlocks[i]);
  note(self, shared.rw_order[i]);
  pthread_rwlock_unlock(&shared.rwlocks[i]);
}
INLINED void write_locked(Self* self, int i) {
  pthread_rwlock_wrlock(&shared.rwlocks[i]);
  pass(self, &shared.rw_order[i]);
  pthread_rwlock_unlock(&shared.rwlocks[i]);
}
INLINED void spun(Self* self) {
  pthread_spin_lock(&shared.spin);
  pass(self, &shared.spin_order);
  pthread_spin_unlock(&shared.spin);
}
INLINED void counted(Self* self) {  // a semaphore that one thread has at a time
  int value;
  while (sem_wait(&shared.semaphore) != 0) continue;
  pass(self, &shared.semaphore_order);
  sem_post(&shared.semaphore);
  sem_getvalue(&shared.semaphore, &value);
  note(self, (uint64_t)value);
}
INLINED void counted_if_free(Self* self) {
  const int result = sem_trywait(&shared.semaphore);
  note(self, (uint64_t)result);
  if (result) return;
  pass(self, &shared.semaphore_order);
  sem_post(&shared.semaphore);
}
INLINED void nudge(Self* self, int all) {
  (void)self;
  if (all) pthread_cond_broadcast(&shared.nudged);
  else pthread_cond_signal(&shared.nudged);
}
INLINED void nudged_or_late(Self* self, long us) {  // always with the same lock, as POSIX wants it
  Guarded* const last = &shared.locks[kObjects - 1];
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += us * 1000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&last->mutex);
  note(self, (uint64_t)pthread_cond_timedwait(&shared.nudged, &last->mutex, &until));
  pass(self, &last->order);
  pthread_mutex_unlock(&last->mutex);
}
INLINED void looked_at_clock(Self* self) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  note(self, (uint64_t)time.tv_nsec);
}

#define ONCE(i)                                                            \
  static UNUSED void first_##i(void) { shared.who[i] = this_thread->index; }
ONCE(0)
ONCE(1)
ONCE(2)
ONCE(3)
#undef ONCE
INLINED void once(Self* self, int i, void (*routine)(void)) {
  pthread_once(&shared.once[i], routine);
  note(self, (uint64_t)shared.who[i]);
}

static UNUSED void* child_main(void* argument) {
  Self* const self = (Self*)argument;
  this_thread = self;
  jitter(30);
  locked(self, 0, 0);
  tried(self, 1);
  return NULL;
}
INLINED void had_child(Self* self) {
  Self child = {.index = self->index + 10, .seen = self->seen};
  pthread_t thread;
  if (pthread_create(&thread, NULL, child_main, &child) != 0) die("pthread_create");
  locked(self, 0, 0);
  pthread_join(thread, NULL);
  note(self, child.seen);
}

INLINED void met(Self* self) {
  note(self, pthread_barrier_wait(&shared.barrier) == PTHREAD_BARRIER_SERIAL_THREAD);
}

// As many are produced as are consumed.
INLINED void produced(Self* self, int count, int all) {
  for (int k = 0; k < count; ++k) {
    pthread_mutex_lock(&shared.queue_lock);
    while (shared.queued == kRoom) pthread_cond_wait(&shared.not_full, &shared.queue_lock);
    note(self, (uint64_t)shared.queued);
    shared.queue[shared.queued++] = self->seen;
    if (all) pthread_cond_broadcast(&shared.not_empty);
    else pthread_cond_signal(&shared.not_empty);
    pthread_mutex_unlock(&shared.queue_lock);
    jitter(20);
  }
}
INLINED void consumed(Self* self, int count, int all) {
  for (int k = 0; k < count; ++k) {
    pthread_mutex_lock(&shared.queue_lock);
    while (shared.queued == 0) pthread_cond_wait(&shared.not_empty, &shared.queue_lock);
    note(self, shared.queue[--shared.queued]);
    if (all) pthread_cond_broadcast(&shared.not_full);
    else pthread_cond_signal(&shared.not_full);
    pthread_mutex_unlock(&shared.queue_lock);
  }
}

// -- MPI --------------------------------------------------------------------------------------------------------------

INLINED void sent(Self* self, MPI_Comm comm, int shift, int tag, int one_at_a_time) {
  int me, size;
  const int i = self->sends++;
  self->sent[i] = self->seen;
  if (one_at_a_time) pthread_mutex_lock(&shared.mpi_lock);
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  MPI_Isend(&self->sent[i], 1, MPI_UINT64_T, (me + shift) % size, tag, comm, &self->requests[i]);
  if (one_at_a_time) pthread_mutex_unlock(&shared.mpi_lock);
}
INLINED void took_one(Self* self, const MPI_Status* status, uint64_t value) {
  note(self, (uint64_t)status->MPI_SOURCE);
  note(self, value);
}
INLINED void received(Self* self, MPI_Comm comm, int tag) {
  MPI_Status status;
  uint64_t value;
  MPI_Recv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, tag, comm, &status);
  took_one(self, &status, value);
}
INLINED void tested(Self* self, MPI_Comm comm, int tag) {
  MPI_Status status;
  MPI_Request request;
  uint64_t value;
  int flag = 0, polls = 0;
  MPI_Irecv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, tag, comm, &request);
  for (;;) {
    MPI_Test(&request, &flag, &status);
    if (flag) break;
    failed(&polls);
  }
  note(self, (uint64_t)polls);
  took_one(self, &status, value);
}
INLINED void matched(Self* self, MPI_Comm comm, int tag) {
  MPI_Status status;
  MPI_Message message;
  uint64_t value;
  MPI_Mprobe(MPI_ANY_SOURCE, tag, comm, &message, &status);
  MPI_Mrecv(&value, 1, MPI_UINT64_T, &message, &status);
  took_one(self, &status, value);
}
INLINED void matched_by_asking(Self* self, MPI_Comm comm, int tag, int one_at_a_time) {
  MPI_Status status;
  MPI_Message message;
  uint64_t value = 0;
  for (int flag = 0, polls = 0; !flag;) {
    if (one_at_a_time) pthread_mutex_lock(&shared.mpi_lock);
    MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, &status);
    if (flag) MPI_Mrecv(&value, 1, MPI_UINT64_T, &message, &status);
    if (one_at_a_time) pthread_mutex_unlock(&shared.mpi_lock);
    if (!flag) failed(&polls);
    else note(self, (uint64_t)polls);
  }
  took_one(self, &status, value);
}
INLINED void sends_completed(Self* self, int one_at_a_time) {
  while (self->sends > 0 && one_at_a_time) {
    int flag = 0, polls = 0;
    pthread_mutex_lock(&shared.mpi_lock);
    MPI_Test(&self->requests[self->sends - 1], &flag, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&shared.mpi_lock);
    if (flag) --self->sends;
    else failed(&polls);
  }
  if (!one_at_a_time) MPI_Waitall(self->sends, self->requests, MPI_STATUSES_IGNORE);
  self->sends = 0;
}

// -- the frame --------------------------------------------------------------------------------------------------------

typedef struct {
  void (*work)(Self*, MPI_Comm);
  MPI_Comm comm;
  Self self;
} Started;

static UNUSED void* thread_begins(void* argument) {
  Started* const started = (Started*)argument;
  this_thread = &started->self;
  started->work(&started->self, started->comm);
  return NULL;
}

static UNUSED void run_threads(MPI_Comm comm, int count, void (*const* work)(Self*, MPI_Comm)) {
  static const pthread_once_t fresh = PTHREAD_ONCE_INIT;
  static Started started[kThreads];
  pthread_t threads[kThreads];
  memset(&shared, 0, sizeof shared);
  for (int i = 0; i < kObjects; ++i) {
    pthread_mutex_init(&shared.locks[i].mutex, NULL);
    pthread_rwlock_init(&shared.rwlocks[i], NULL);
    shared.once[i] = fresh;
  }
  pthread_spin_init(&shared.spin, PTHREAD_PROCESS_PRIVATE);
  sem_init(&shared.semaphore, 0, 1);
  pthread_barrier_init(&shared.barrier, NULL, (unsigned)count);
  pthread_mutex_init(&shared.queue_lock, NULL);
  pthread_mutex_init(&shared.mpi_lock, NULL);
  pthread_cond_init(&shared.not_empty, NULL);
  pthread_cond_init(&shared.not_full, NULL);
  pthread_cond_init(&shared.nudged, NULL);
  for (int i = 0; i < count; ++i) {
    started[i] = (Started){.work = work[i], .comm = comm, .self = {.index = i, .seen = draw()}};
    if (pthread_create(&threads[i], NULL, thread_begins, &started[i]) != 0) die("pthread_create");
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < count; ++i) {
    fold(started[i].self.seen);
    say("thread %d saw %08x", i, short_form(started[i].self.seen));
  }
  for (int i = 0; i < kObjects; ++i) fold(shared.locks[i].order);
  say("order of locks %08x", short_form(digest));
  pthread_barrier_destroy(&shared.barrier);
}

#endif
