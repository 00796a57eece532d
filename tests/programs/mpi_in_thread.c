// All of MPI is done by a thread that is not the main one, while the main thread reads clocks all the time: these have no
// order with the calls, and must not disturb them.
#include <pthread.h>

#include "common.h"

static _Atomic int stop;
static int argument_count;
static char** arguments;

static void* use_mpi(void* unused) {
  (void)unused;
  jitter(3000);
  int provided;
  MPI_Init_thread(&argument_count, &arguments, MPI_THREAD_MULTIPLE, &provided);
  open_output(argument_count, arguments);
  if (world_rank) {
    send_stream(20, 3, 200);
  } else {
    for (int i = 0; i < 20 * (world_size - 1); ++i) {
      int value;
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
      took("recv", status.MPI_SOURCE, status.MPI_TAG, value);
    }
  }
  finish();
  stop = 1;
  return NULL;
}

int main(int argc, char** argv) {
  argument_count = argc;
  arguments = argv;
  pthread_t thread;
  time(NULL);
  pthread_create(&thread, NULL, use_mpi, NULL);
  while (!stop) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    getpid();
  }
  pthread_join(thread, NULL);
}
