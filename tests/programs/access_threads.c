// Two threads of each rank look at a window and put into others', one at a time by a lock.
#include <pthread.h>

#include "common.h"

enum { kSlots = 32, kRounds = 30 };

static MPI_Win window;
static volatile long* slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void* work(void* argument) {
  const int me = *(const int*)argument;
  for (int round = 0; round < kRounds; ++round) {
    jitter(100);
    pthread_mutex_lock(&lock);
    long sum = 0;
    for (int i = 0; i < kSlots; ++i) sum += slots[i];
    const long value = round * 100 + world_rank * 10 + me;
    const int target = (world_rank + 1) % world_size;
    MPI_Put(&value, 1, MPI_LONG, target, (round * 2 + me) % kSlots, 1, MPI_LONG, window);
    MPI_Win_flush(target, window);
    slots[(round * 3 + me) % kSlots] = -sum % 100;
    fold((uint64_t)sum);
    if (round % 10 == 0) say("thread %d: %ld", me, sum);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  open_output(argc, argv);
  MPI_Win_allocate(kSlots * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&slots, &window);
  memset((void*)slots, 0, kSlots * sizeof(long));
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  long before = 0;
  for (int i = 0; i < 1000; ++i) before += slots[i % kSlots];
  fold((uint64_t)before);
  pthread_t threads[2];
  const int names[2] = {1, 2};
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, work, (void*)&names[i]);
  for (int i = 0; i < 2; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  finish();
}
