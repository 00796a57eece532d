// Threads of C11, which reach the same objects by other names.
#include <threads.h>

#include "common.h"

enum { kThreads = 3, kRounds = 40 };

static mtx_t plain, recursive, timed;
static cnd_t turned;
static once_flag once = ONCE_FLAG_INIT;
static tss_t key;
static uint64_t order, nested, by_try, by_time;
static int turn, first = -1, ended;
static thread_local int me;

static void came(uint64_t* into) { *into = (*into ^ (uint64_t)(me + 1)) * 1099511628211u; }
static void only_once(void) { first = me; }
static void at_end(void* value) {
  mtx_lock(&plain);
  ended = ended * 10 + (int)(intptr_t)value;
  mtx_unlock(&plain);
}

static int work(void* number) {
  me = (int)(intptr_t)number;
  jitter(50);
  call_once(&once, only_once);
  tss_set(key, (void*)(intptr_t)(me + 1));
  for (int i = 0; i < kRounds; ++i) {
    struct timespec until;
    jitter(20);
    mtx_lock(&plain);
    came(&order);
    mtx_unlock(&plain);
    mtx_lock(&recursive);
    mtx_lock(&recursive);
    came(&nested);
    mtx_unlock(&recursive);
    mtx_unlock(&recursive);
    while (mtx_trylock(&plain) != thrd_success) thrd_yield();
    came(&by_try);
    mtx_unlock(&plain);
    timespec_get(&until, TIME_UTC);
    until.tv_sec += 60;
    if (mtx_timedlock(&timed, &until) == thrd_success) {
      came(&by_time);
      mtx_unlock(&timed);
    }
  }
  // One after the other, whoever comes.
  mtx_lock(&plain);
  turn++;
  cnd_broadcast(&turned);
  while (turn < kThreads) cnd_wait(&turned, &plain);
  came(&order);
  mtx_unlock(&plain);
  return me + 10;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  mtx_init(&plain, mtx_plain);
  mtx_init(&recursive, mtx_plain | mtx_recursive);
  mtx_init(&timed, mtx_timed);
  cnd_init(&turned);
  tss_create(&key, at_end);
  thrd_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) thrd_create(&threads[i], work, (void*)(intptr_t)i);
  for (int i = 0; i < kThreads; ++i) {
    int result;
    thrd_join(threads[i], &result);
    say("thread %d returned %d", i, result);
  }
  say("nested %016llx", (unsigned long long)nested);
  say("first %d, order %016llx, try %016llx, timed %016llx, ended %d", first, (unsigned long long)order,
      (unsigned long long)by_try, (unsigned long long)by_time, ended);
  fold(order ^ by_try ^ by_time);
  finish();
}
