// MPI_MIN takes MPI_UNSIGNED_LONG for signed, MPI_MAX takes MPI_OFFSET for unsigned. Any number of processes.
// MPI 3.1, 5.9.2. Other types are right.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const unsigned long large = ~0ul;
  const MPI_Offset negative = -5;
  unsigned long least = 5;
  MPI_Offset greatest = 3;
  MPI_Init(&argc, &argv);
  MPI_Reduce_local(&large, &least, 1, MPI_UNSIGNED_LONG, MPI_MIN);
  MPI_Reduce_local(&negative, &greatest, 1, MPI_OFFSET, MPI_MAX);
  const int bad = least != 5 || greatest != 3;
  if (!bad) printf("ok\n");
  else printf("WRONG: minimum %lu, should be 5; maximum %lld, should be 3\n", least, (long long)greatest);
  MPI_Finalize();
  return bad;
}
