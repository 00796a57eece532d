// Makes no call for a while between two calls: SECONDS asleep in rank 1, BURN seconds of processor time in rank 0.
//
//   pauses DIR SECONDS BURN
#include "common.h"

static double processor_seconds(void) {
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  const double seconds = argc > 2 ? atof(argv[2]) : 0;
  const double burn = argc > 3 ? atof(argv[3]) : 0;
  if (world_rank == 1) {
    struct timespec pause = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&pause, NULL);
  }
  volatile uint64_t turns = 0;
  if (world_rank == 0)
    for (const double until = processor_seconds() + burn; processor_seconds() < until;)
      for (int i = 0; i < 10000; ++i) ++turns;
  MPI_Barrier(MPI_COMM_WORLD);
  finish();
}
