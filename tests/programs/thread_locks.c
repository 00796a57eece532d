// Threads of each rank meet at one kind of object after the other; who comes first decides what the rank prints.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "common.h"

enum { kThreads = 3, kTurns = 60 };

static uint64_t seen;  // by order of passing
static int passed;
static void pass(int who) {
  seen = (seen ^ (uint64_t)(who + 1)) * 1099511628211u;
  ++passed;
}

static void unevenly(void) { jitter(40); }

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive, robust;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static int first = -1, told, waited;
static _Thread_local int me;

static struct timespec soon(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += 200000;
  if (time.tv_nsec >= 1000000000) ++time.tv_sec, time.tv_nsec -= 1000000000;
  return time;
}

static void by_mutex(void) {
  pthread_mutex_lock(&mutex);
  pass(me);
  unevenly();
  pthread_mutex_unlock(&mutex);
}

static void by_trylock(void) {
  int tries = 0;
  while (pthread_mutex_trylock(&mutex) == EBUSY) {
    ++tries;
    unevenly();
  }
  pass(me + 16 * tries);
  unevenly();
  pthread_mutex_unlock(&mutex);
}

static void by_timedlock(void) {
  int tries = 0;
  for (;;) {
    const struct timespec time = soon();
    if (pthread_mutex_timedlock(&mutex, &time) == 0) break;
    ++tries;
  }
  pass(me + 16 * tries);
  jitter(500);
  pthread_mutex_unlock(&mutex);
}

static void by_recursive(void) {
  pthread_mutex_lock(&recursive);
  pass(me);
  if (me == 1) {
    pthread_mutex_lock(&recursive);
    pass(me + 8);
    pthread_mutex_unlock(&recursive);
  }
  unevenly();
  pthread_mutex_unlock(&recursive);
}

// One of them hands a token on; the others wait for it, and give up after a while.
static void by_condition(void) {
  pthread_mutex_lock(&mutex);
  if (passed % 3 == me) {
    ++told;
    pthread_cond_broadcast(&condition);
  } else {
    const int before = told;
    const struct timespec time = soon();
    int result = 0;
    while (told == before && result == 0) result = pthread_cond_timedwait(&condition, &mutex, &time);
    waited += result == ETIMEDOUT ? 100 : 1;
  }
  pass(me + 16 * (told + waited));
  pthread_mutex_unlock(&mutex);
  unevenly();
}

static void by_rwlock(void) {
  static int written;
  if (me == 0) {
    pthread_rwlock_wrlock(&rwlock);
    ++written;
    unevenly();
    pthread_rwlock_unlock(&rwlock);
  } else {
    pthread_rwlock_rdlock(&rwlock);
    const int value = written;
    pthread_rwlock_unlock(&rwlock);
    const int busy = pthread_rwlock_tryrdlock(&rwlock);
    if (busy == 0) pthread_rwlock_unlock(&rwlock);
    pthread_mutex_lock(&mutex);
    pass(me + 16 * value + 7 * (busy != 0));
    pthread_mutex_unlock(&mutex);
  }
  unevenly();
}

static void by_spin(void) {
  pthread_spin_lock(&spin);
  pass(me);
  pthread_spin_unlock(&spin);
  unevenly();
}

static void by_barrier(void) {
  unevenly();
  const int last = pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD;
  pthread_mutex_lock(&mutex);
  pass(me + 16 * last);
  pthread_mutex_unlock(&mutex);
  pthread_barrier_wait(&barrier);
}

static void by_semaphore(void) {
  int value, tries = 0;
  while (sem_trywait(&semaphore) != 0 && ++tries < 3) unevenly();
  if (tries == 3) sem_wait(&semaphore);
  pass(me + 16 * tries);
  unevenly();
  sem_post(&semaphore);
  sem_getvalue(&semaphore, &value);
  unevenly();
  pthread_mutex_lock(&mutex);
  waited = waited * 3 + value;
  pthread_mutex_unlock(&mutex);
}

static void i_am_first(void) {
  unevenly();
  pthread_mutex_lock(&mutex);  // synchronises within the routine
  first = me;
  pthread_mutex_unlock(&mutex);
}

static void by_once(void) {
  unevenly();
  pthread_once(&once, i_am_first);
  by_mutex();
}

static void by_robust(void) {
  unevenly();
  const int result = pthread_mutex_lock(&robust);
  if (result == EOWNERDEAD) pthread_mutex_consistent(&robust);
  pass(me + 16 * (result == EOWNERDEAD));
  pthread_mutex_unlock(&robust);
}

static void* dies_with_lock(void* unused) {
  (void)unused;
  pthread_mutex_lock(&robust);
  return NULL;
}

static const struct {
  const char* name;
  void (*step)(void);
} kinds[] = {{"mutex", by_mutex},         {"trylock", by_trylock},   {"timedlock", by_timedlock},
             {"recursive", by_recursive}, {"condition", by_condition}, {"rwlock", by_rwlock},
             {"spin", by_spin},           {"barrier", by_barrier},   {"semaphore", by_semaphore},
             {"once", by_once},           {"robust", by_robust}};
enum { kKinds = sizeof kinds / sizeof kinds[0] };
static int kind;

static void* work(void* number) {
  me = (int)(intptr_t)number;
  for (int i = 0; i < kTurns; ++i) kinds[kind].step();
  return NULL;
}

// A thread that is cancelled while it waits, and one that ends itself.
static void clean_up(void* unused) {
  (void)unused;
  pass(40);
  pthread_mutex_unlock(&mutex);
}

static void* waits_for_ever(void* unused) {
  pthread_mutex_lock(&mutex);
  pthread_cleanup_push(clean_up, unused);
  for (;;) pthread_cond_wait(&condition, &mutex);
  pthread_cleanup_pop(0);
  return NULL;
}

static void* ends_itself(void* unused) {
  by_mutex();
  pthread_exit(unused);
}

static void run_cancelled(void) {
  pthread_t one, two;
  void* result;
  pthread_create(&one, NULL, waits_for_ever, NULL);
  pthread_create(&two, NULL, ends_itself, &passed);
  jitter(3000);
  by_mutex();
  pthread_cancel(one);
  pthread_join(one, &result);
  say("cancelled %d", result == PTHREAD_CANCELED);
  pthread_join(two, &result);
  say("ended itself %d, %016llx", result == &passed, (unsigned long long)seen);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&recursive, &attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_NORMAL);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  pthread_mutex_init(&robust, &attributes);
  pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
  pthread_barrier_init(&barrier, NULL, kThreads);
  sem_init(&semaphore, 0, 1);
  pthread_t thread;
  pthread_create(&thread, NULL, dies_with_lock, NULL);
  pthread_join(thread, NULL);
  for (kind = 0; kind < kKinds; ++kind) {
    pthread_t threads[kThreads];
    passed = told = waited = 0;
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    say("%s: %016llx first %d waited %d", kinds[kind].name, (unsigned long long)seen, first, waited);
    fold(seen);
  }
  run_cancelled();
  finish();
}
