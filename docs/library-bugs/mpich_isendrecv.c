// The status of MPI_Isendrecv (and of MPI_Isendrecv_replace) is not that of the receive. Run with 2 processes. Needs MPI 4.
// MPI 4.0, 3.10: the status of the completed operation is that of the receive.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, in, out = -1, count;
  MPI_Request request;
  MPI_Status status;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  in = rank;
  MPI_Isendrecv(&in, 1, MPI_INT, 1 - rank, 7, &out, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  const int bad = status.MPI_SOURCE != 1 - rank || status.MPI_TAG != 7 || count != 1;
  if (!bad) printf("ok\n");
  else printf("WRONG: source %d, tag %d, count %d, should be %d, 7, 1\n", status.MPI_SOURCE, status.MPI_TAG, count, 1 - rank);
  MPI_Finalize();
  return bad;
}
