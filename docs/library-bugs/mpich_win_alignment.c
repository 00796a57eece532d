// A put into a window that does not begin at a multiple of 16 bytes goes to another place. Run with 2 processes on one host.
// MPI 3.1, 11.2.1: a window begins at any address; 11.3: the target address is base + displacement * unit. (Seen with ch4:ucx.)
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static _Alignas(64) int memory[16];
  int rank, value = 5, *base = memory + 5;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_create(base, 7 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Put(&value, 1, MPI_INT, 1, 2, 1, MPI_INT, window);
  MPI_Win_fence(0, window);
  const int bad = rank == 1 && base[2] != 5;
  if (rank == 1 && !bad) printf("ok\n");
  for (int i = 0; bad && i < 16; ++i)
    if (memory[i] == 5) printf("WRONG: it is at place %d, should be at place 7\n", i);
  MPI_Win_free(&window);
  MPI_Finalize();
  return bad;
}
