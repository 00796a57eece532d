// MPI_Win_create (and MPI_Win_create_dynamic) fails on one process: MPI_ERR_WIN. Run with 1 process. (with osc/ucx)
// MPI 3.1, 11.2.1: collective over the communicator, of which nothing is said that one process would not fulfil.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  static int memory;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int code = MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  printf(code ? "WRONG: error %d\n" : "ok\n", code);
  if (code == MPI_SUCCESS) MPI_Win_free(&window);
  MPI_Finalize();
  return code != MPI_SUCCESS;
}
