// A start of MPI_Gather_init leaves out what the root has for itself. Run with 1 or 2 processes. Needs MPI 4.
// MPI 4.0, 6.13: a start is like the nonblocking call, with what the buffers hold then.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, in, out[8], bad = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Gather_init(&in, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int start = 0; start < 3; ++start) {
    in = 10 + start;
    out[0] = -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0 && out[0] != in) printf("WRONG: start %d brings %d, should be %d\n", start + 1, out[0], in), ++bad;
  }
  MPI_Request_free(&request);
  if (rank == 0 && !bad) printf("ok\n");
  MPI_Finalize();
  return bad > 0;
}
