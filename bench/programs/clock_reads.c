// A rank that does nothing but read a clock: clock_reads DIR READS
#include "bench.h"

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long reads = atol(argv[2]);
  uint64_t sum = 0;
  for (long i = 0; i < reads; ++i) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    sum += (uint64_t)time.tv_nsec;
    ++calls;
  }
  FILE* stats = end(argv[1]);
  fprintf(stats, "sum %llu\n", (unsigned long long)sum);
  fclose(stats);
  MPI_Finalize();
}
