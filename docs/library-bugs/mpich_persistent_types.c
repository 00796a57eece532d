// MPI_Request_free of a persistent collective with a derived datatype fails an assertion. Run with 1 process. Needs MPI 4.
// MPI 4.0, 6.13: persistent collective requests are freed with MPI_Request_free.
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
  int in[4] = {1, 2, 3, 4}, out[4];
  MPI_Datatype type;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  signal(SIGABRT, ends);
  signal(SIGSEGV, ends);
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  MPI_Type_commit(&type);
  MPI_Allgather_init(in, 1, type, out, 1, type, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  for (int start = 0; start < 5; ++start) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
  MPI_Type_free(&type);
  printf("ok\n");
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
