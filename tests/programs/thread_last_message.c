// A rank with threads that aborts, by itself or by MPI_Abort, while a message is on its way to it. That came through because the
// rank kept asking for another one: what a synchronous send needs is done in the calls of the receiver.
#include <pthread.h>

#include "common.h"

enum { kAsks = 300, kCount = 50000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int values[kCount];

static void* work(void* nothing) {
  pthread_mutex_lock(&mutex);
  say("a thread was here");
  pthread_mutex_unlock(&mutex);
  return nothing;
}

int main(int argc, char** argv) {
  const int level = argc > 2 && strcmp(argv[2], "multiple") == 0     ? MPI_THREAD_MULTIPLE
                    : argc > 2 && strcmp(argv[2], "serialized") == 0 ? MPI_THREAD_SERIALIZED
                                                                     : MPI_THREAD_FUNNELED;
  int provided;
  MPI_Init_thread(&argc, &argv, level, &provided);
  open_output(argc, argv);
  pthread_t thread;
  pthread_create(&thread, NULL, work, NULL);
  pthread_join(thread, NULL);
  if (world_rank == 0) {
    MPI_Request coming, never;
    int nothing, flag;
    MPI_Irecv(values, kCount, MPI_INT, 1, 1, MPI_COMM_WORLD, &coming);
    MPI_Irecv(&nothing, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &never);
    for (int i = 0; i < kAsks; ++i) {
      MPI_Test(&never, &flag, MPI_STATUS_IGNORE);
      usleep(1000);
    }
    say("asked %d times", kAsks);
    if (argc > 3) MPI_Abort(MPI_COMM_WORLD, 7);
    abort();
  }
  usleep(50000);
  MPI_Ssend(values, kCount, MPI_INT, 0, 1, MPI_COMM_WORLD);
  say("sent");
  MPI_Recv(values, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  finish();
}
