// MPI_MIN and MPI_MAX compare unsigned numbers as if they were signed, in all reductions. Any number of processes.
// MPI 3.1, 5.9.2: the minimum, and the unsigned types are C integers like the others.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const unsigned large = 4000000000u;
  unsigned least = 5, greatest = 5;
  MPI_Init(&argc, &argv);
  MPI_Reduce_local(&large, &least, 1, MPI_UNSIGNED, MPI_MIN);
  MPI_Reduce_local(&large, &greatest, 1, MPI_UNSIGNED, MPI_MAX);
  const int bad = least != 5 || greatest != large;
  if (!bad) printf("ok\n");
  else printf("WRONG: minimum %u, maximum %u, should be 5 and 4000000000\n", least, greatest);
  MPI_Finalize();
  return bad;
}
