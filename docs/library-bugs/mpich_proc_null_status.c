// The status of MPI_Irecv from MPI_PROC_NULL is not set. Run with 1 process.
// MPI 3.1, 3.11: source = MPI_PROC_NULL, tag = MPI_ANY_TAG, count = 0.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int data, count;
  MPI_Request request;
  MPI_Status status = {0};
  MPI_Init(&argc, &argv);
  MPI_Irecv(&data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Get_count(&status, MPI_INT, &count);
  const int bad = status.MPI_SOURCE != MPI_PROC_NULL || status.MPI_TAG != MPI_ANY_TAG || count != 0;
  if (!bad) printf("ok\n");
  else printf("WRONG: source %d, tag %d, should be %d, %d\n", status.MPI_SOURCE, status.MPI_TAG, MPI_PROC_NULL, MPI_ANY_TAG);
  MPI_Finalize();
  return bad;
}
