// MPI_Win_fence returns at the target before all of a large MPI_Put has come. (osc/ucx: mpirun --mca osc ^rdma; UCX 1.13)
// Run with more processes than cores, on one host: 4 where there are 2 cores, and again if it says ok. Where other programs run, too, it
// happens in about one of 140 rounds; `reprise check -- mpirun ...` names the put.
// MPI 3.1, 11.5.1: all operations on the window that the processes have begun are completed at the target when its fence returns.
#include <mpi.h>
#include <stdio.h>

enum { kCount = 1 << 18, kMostRounds = 300, kEnough = 3 };

int main(int argc, char** argv) {
  static int memory[kCount], out[kCount];
  int rank, size, bad = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int left = (rank + size - 1) % size;
  for (int round = 0; round < kMostRounds && all < kEnough; ++round) {
    MPI_Win window;
    int wrong = 0;
    for (int i = 0; i < kCount; ++i) out[i] = round * 1000 + rank + i;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, kCount, MPI_INT, (rank + 1) % size, 0, kCount, MPI_INT, window);
    MPI_Win_fence(0, window);
    for (int i = 0; i < kCount; ++i) wrong += memory[i] != round * 1000 + left + i;
    if (wrong > 0) printf("WRONG: round %d: %d of %d numbers have not come to rank %d\n", round, wrong, (int)kCount, rank);
    bad += wrong > 0;
    MPI_Win_free(&window);
    MPI_Allreduce(&bad, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
  if (rank == 0 && all == 0) printf("ok\n");
  MPI_Finalize();
  return all > 0;
}
