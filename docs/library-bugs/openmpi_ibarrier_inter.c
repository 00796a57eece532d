// MPI_Ibarrier on an intercommunicator does not wait for all of the other group. Run with 4 processes.
// MPI 3.1, 5.3 and 5.12.1: it completes when all of the other group have called it. Rank 3 comes a second late.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, bad = 0;
  MPI_Comm local, inter;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 3, &inter);
  MPI_Barrier(MPI_COMM_WORLD);
  const double before = MPI_Wtime();
  if (rank == 3) sleep(1);
  MPI_Ibarrier(inter, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  bad = rank < 2 && MPI_Wtime() - before < 0.5;
  if (bad) printf("WRONG: rank %d left before rank 3 came\n", rank);
  else if (rank < 2) printf("ok\n");
  MPI_Finalize();
  return bad;
}
