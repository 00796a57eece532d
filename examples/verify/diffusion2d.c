/* Heat in a plate that is cut into strips, one per rank. After each step rank 0 gathers the strips in the order in which they come.

   diffusion2d STEPS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRows = 4, kColumns = 6, kHalo = 1, kStrip = 2 };

static double now[kRows + 2][kColumns], then[kRows + 2][kColumns];

static void exchange(int rank, int size) {
  const int up = rank > 0 ? rank - 1 : MPI_PROC_NULL, down = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(now[1], kColumns, MPI_DOUBLE, up, kHalo, now[kRows + 1], kColumns, MPI_DOUBLE, down, kHalo, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Sendrecv(now[kRows], kColumns, MPI_DOUBLE, down, kHalo, now[0], kColumns, MPI_DOUBLE, up, kHalo, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
}

static double heat_of(double strip[kRows][kColumns]) {
  double heat = 0;
  for (int i = 0; i < kRows; ++i)
    for (int j = 0; j < kColumns; ++j) heat += strip[i][j];
  return heat;
}

/* The sum is made in the order of ranks, whoever comes first. */
static double show(int rank, int size) {
  double strip[kRows][kColumns], heat[64];
  memcpy(strip, now[1], sizeof strip);
  if (rank > 0) {
    MPI_Send(strip, kRows * kColumns, MPI_DOUBLE, 0, kStrip, MPI_COMM_WORLD);
    return 0;
  }
  heat[0] = heat_of(strip);
  for (int i = 1; i < size; ++i) {
    MPI_Status status;
    MPI_Recv(strip, kRows * kColumns, MPI_DOUBLE, MPI_ANY_SOURCE, kStrip, MPI_COMM_WORLD, &status);
    heat[status.MPI_SOURCE] = heat_of(strip);
  }
  double all = 0;
  for (int i = 0; i < size; ++i) all += heat[i];
  return all;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int steps = argc > 1 ? atoi(argv[1]) : 4;
  for (int i = 1; i <= kRows; ++i)
    for (int j = 0; j < kColumns; ++j) now[i][j] = rank == 0 && i == 1 ? 100 : 0;
  for (int step = 0; step < steps; ++step) {
    exchange(rank, size);
    memcpy(then, now, sizeof then);
    for (int i = 1; i <= kRows; ++i)
      for (int j = 1; j + 1 < kColumns; ++j)
        now[i][j] = then[i][j] + 0.1 * (then[i - 1][j] + then[i + 1][j] + then[i][j - 1] + then[i][j + 1] - 4 * then[i][j]);
    const double heat = show(rank, size);
    if (rank == 0) printf("step %d: %f\n", step, heat);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
