// Clocks read by several threads at once, some of which read on until a variable changes: more or less often in each run.
// Every thread must get the times of its own log, and none may see time go back.
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>

#include "common.h"

static _Atomic int stop;

static void* reader(void* unused) {
  (void)unused;
  struct timespec last = {0, 0};
  while (!stop) {
    struct timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now)) die("clock_gettime");
    if (now.tv_sec < last.tv_sec || (now.tv_sec == last.tv_sec && now.tv_nsec < last.tv_nsec)) die("time went back");
    last = now;
    time(NULL);
    getpid();
  }
  return NULL;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t by_realtime = PTHREAD_COND_INITIALIZER, by_monotonic;
static sem_t semaphore;
static int told;

static void* tell(void* condition) {
  usleep(3000);
  pthread_mutex_lock(&mutex);
  told = 1;
  pthread_cond_signal(condition);
  pthread_mutex_unlock(&mutex);
  sem_post(&semaphore);
  return NULL;
}

// Waits that end long before their time must do so in a replay as well, where that time has long passed.
static void wait_for_thread(pthread_cond_t* condition, clockid_t clock) {
  struct timespec later, now;
  clock_gettime(clock, &later);
  later.tv_sec += 60;
  pthread_t thread;
  told = 0;
  pthread_create(&thread, NULL, tell, condition);
  pthread_mutex_lock(&mutex);
  int result = 0;
  while (!told && result == 0) result = pthread_cond_timedwait(condition, &mutex, &later);
  pthread_mutex_unlock(&mutex);
  pthread_join(thread, NULL);
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_sec += 60;
  const int second = sem_timedwait(&semaphore, &now);
  say("told %d (%d), %d", told, result, second);
  // And one that does come to its end, soon.
  clock_gettime(CLOCK_REALTIME, &now);
  now.tv_nsec += 1000000;
  if (now.tv_nsec >= 1000000000) ++now.tv_sec, now.tv_nsec -= 1000000000;
  say("nobody: %d", sem_timedwait(&semaphore, &now) < 0 ? errno : 0);
}

int main(int argc, char** argv) {
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, reader, NULL);
  struct timespec early;
  clock_gettime(CLOCK_REALTIME, &early);
  start(&argc, &argv);
  say("early %lld.%09ld", (long long)early.tv_sec, early.tv_nsec);
  for (int i = 0; i < 2000; ++i) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    fold((uint64_t)now.tv_nsec);
    if (i % 100 == 0) {
      int value = i, other;
      MPI_Sendrecv(&value, 1, MPI_INT, world_rank, 4, &other, 1, MPI_INT, world_rank, 4, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
      say("%d: %lld.%09ld", other, (long long)now.tv_sec, now.tv_nsec);
    }
  }
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&by_monotonic, &attributes);
  sem_init(&semaphore, 0, 0);
  wait_for_thread(&by_realtime, CLOCK_REALTIME);
  wait_for_thread(&by_monotonic, CLOCK_MONOTONIC);
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  finish();
}
