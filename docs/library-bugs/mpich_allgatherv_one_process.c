// MPI_Allgatherv on one process takes the displacement for bytes; MPI_Iallgatherv, too. Run with 1 process.
// MPI 3.1, 5.7: block j is placed at recvbuf + displs[j] * extent(recvtype).
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int in = 5, out[4] = {0, 0, 0, 0}, one = 1, place = 2;
  MPI_Init(&argc, &argv);
  MPI_Allgatherv(&in, 1, MPI_INT, out, &one, &place, MPI_INT, MPI_COMM_SELF);
  if (out[2] == 5) printf("ok\n");
  else printf("WRONG: %d %d %d %d, should be 0 0 5 0\n", out[0], out[1], out[2], out[3]);
  MPI_Finalize();
  return out[2] != 5;
}
