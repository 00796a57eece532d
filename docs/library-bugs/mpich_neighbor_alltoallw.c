// MPI_Neighbor_alltoallw (and MPI_Ineighbor_alltoallw) is over before the data has come. Run with 2 processes.
// MPI 3.1, 7.6: a process receives from its sources, and 5.1: when the call returns, the receive buffer holds the data.
// The graph has one edge, from rank 1 to rank 0.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank, bad = 0, one = 1, zero = 0;
  const int weight = 1;
  const MPI_Aint place = 0;
  const MPI_Datatype type = MPI_INT;
  MPI_Comm graph;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0, &one, &weight, rank == 1, &zero, &weight, MPI_INFO_NULL, 0, &graph);
  static int in, out[10];
  for (int round = 0; round < 10; ++round) {
    in = 100 + round;
    out[round] = -1;
    MPI_Neighbor_alltoallw(&in, &one, &place, &type, &out[round], &one, &place, &type, graph);
    bad += rank == 0 && out[round] != 100 + round;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank == 0) printf(bad ? "WRONG: %d of 10 messages had not come\n" : "ok\n", bad);
  MPI_Finalize();
  return bad > 0;
}
