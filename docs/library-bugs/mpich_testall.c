// MPI_Testall on a persistent collective says MPI_ERR_IN_STATUS, but no status has an error. Any number of processes. Needs MPI 4.
// MPI 3.1, 3.7.5: MPI_ERR_IN_STATUS is returned when one of the operations has failed.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int in = 5, out = -1, flag = 0, code = 0;
  MPI_Request request;
  MPI_Status status = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  while (!flag && !code) code = MPI_Testall(1, &request, &flag, &status);
  if (code && status.MPI_ERROR == MPI_SUCCESS) printf("WRONG: error %d, that of the status is %d\n", code, status.MPI_ERROR);
  else printf("ok\n");
  if (code) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Finalize();
  return code != 0;
}
