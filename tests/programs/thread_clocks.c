// Clocks read by several threads at once. Those of the main thread are replayed; the others get real ones and must
// neither disturb the log nor be disturbed by it.
#include <pthread.h>

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
  stop = 1;
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  finish();
}
