// Neighbourhood alltoall on a periodic grid of one process confuses the two directions. Run with 1 process.
// MPI 4.0, 8.6 and B.1.1: what is sent in the negative direction is received from the positive one, also where dims[d] is 1 or 2.
#include <mpi.h>
#include <stdio.h>

static int check(const char* call, const int* out) {
  const int bad = out[0] != 2 || out[1] != 1;
  if (bad) printf("WRONG: %s: %d %d, should be 2 1\n", call, out[0], out[1]);
  return bad;
}

int main(int argc, char** argv) {
  const int one = 1, ones[2] = {1, 1}, places[2] = {0, 1};
  int in[2] = {1, 2}, out[2] = {0, 0}, bad = 0;
  MPI_Comm ring;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Cart_create(MPI_COMM_SELF, 1, &one, &one, 0, &ring);
  MPI_Neighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring);
  bad += check("MPI_Neighbor_alltoall", out);
  MPI_Ineighbor_alltoall(in, 1, MPI_INT, out, 1, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  bad += check("MPI_Ineighbor_alltoall", out);
  MPI_Neighbor_alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, ring);
  bad += check("MPI_Neighbor_alltoallv", out);
  MPI_Ineighbor_alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, ring, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  bad += check("MPI_Ineighbor_alltoallv", out);
  if (!bad) printf("ok\n");
  MPI_Comm_free(&ring);
  MPI_Finalize();
  return bad > 0;
}
