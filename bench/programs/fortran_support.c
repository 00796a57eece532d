// Timing and statistics for a benchmark program in Fortran, which calls MPI_Init itself.
#include "bench.h"

void bench_begin(void);
void bench_end(const char* directory, long made);

void bench_begin(void) {
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  began = now();
}

void bench_end(const char* directory, long made) {
  calls = (uint64_t)made;
  fclose(end(directory));
}
