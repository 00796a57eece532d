// MPI_Psend_init to MPI_PROC_NULL crashes. Run with 1 process. Needs MPI 4.
// MPI 4.0, 3.11: MPI_PROC_NULL can be used wherever a source or a destination is required in a call.
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
  int data = 5;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  signal(SIGSEGV, ends);
  MPI_Psend_init(&data, 1, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Pready(0, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  printf("ok\n");
  MPI_Finalize();
  return 0;
}
