// MPI_Get_accumulate (and MPI_Accumulate) with MPI_LAND does nothing at all. Run with 2 processes on one host. (osc/rdma)
// MPI 3.1, 11.3.4: any predefined operation of MPI_Reduce.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static _Alignas(64) int memory = 5;
  int rank, given = 6, fetched = -1;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Get_accumulate(&given, 1, MPI_INT, &fetched, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_LAND, window);
  MPI_Win_fence(0, window);
  const int bad = rank == 0 ? fetched != 5 : memory != 1;
  if (!bad) printf("ok\n");
  else if (rank == 0) printf("WRONG: fetched %d, should be 5\n", fetched);
  else printf("WRONG: the window has %d, should be 1\n", memory);
  MPI_Win_free(&window);
  MPI_Finalize();
  return bad;
}
