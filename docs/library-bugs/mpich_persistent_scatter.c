// The second start of MPI_Scatter_init fails. Run with 3 processes. Needs MPI 4.
// MPI 4.0, 6.13: an inactive persistent request can be started again.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  int rank, in[3], out, code = 0, bad = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  signal(SIGSEGV, ends);
  signal(SIGABRT, ends);
  MPI_Scatter_init(in, 1, MPI_INT, &out, 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int start = 0; start < 4 && !bad; ++start) {
    for (int i = 0; i < 3; ++i) in[i] = 10 * start + i;
    out = -1;
    code = MPI_Start(&request);
    if (code == MPI_SUCCESS) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    bad = code != MPI_SUCCESS || out != 10 * start + rank;
    if (bad) printf("WRONG: start %d on rank %d: error %d, %d, should be %d\n", start + 1, rank, code, out, 10 * start + rank);
    fflush(stdout);
  }
  if (bad) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Request_free(&request);
  if (rank == 0) printf("ok\n");
  MPI_Finalize();
  return 0;
}
