// Rank 0 hears everybody, so many rounds, with a barrier after each: ((n-1)!)^rounds orders.
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, ranks, value;
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int round = 0; round < rounds; ++round) {
    value = rank;
    if (rank != 0) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    else
      for (int i = 1; i < ranks; ++i)
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
}
