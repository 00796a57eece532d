// Accesses to memory of MPI_Win_allocate go to another place if its size is no multiple of 16. Run with 2 processes on one host.
// MPI 4.0, 12.2.2: the memory that is returned is the one that is exposed.
#include <mpi.h>
#include <stdio.h>

enum { kWords = 22 };

int main(int argc, char** argv) {
  int rank, size, bad = 0, *memory;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(kWords * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  for (int i = 0; i < kWords; ++i) memory[i] = 0;
  MPI_Win_fence(0, window);
  if (rank == 0) {
    const int seven = 7;
    for (int target = 0; target < size; ++target) MPI_Accumulate(&seven, 1, MPI_INT, target, 3, 1, MPI_INT, MPI_SUM, window);
  }
  MPI_Win_fence(0, window);
  for (int i = 0; i < kWords; ++i) bad += memory[i] != (i == 3 ? 7 : 0);
  MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf(bad ? "WRONG: %d words differ\n" : "ok\n", bad);
  MPI_Win_free(&window);
  MPI_Finalize();
  return bad != 0;
}
