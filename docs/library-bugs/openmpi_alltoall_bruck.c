// MPI_Alltoall by the algorithm of Bruck loses data if the lower bound of a datatype is not 0. Run with 4 processes and with
// OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_alltoall_algorithm=3 in the environment. (coll/tuned)
// MPI 3.1, 5.8: block j is sent from sendbuf + j * sendcount * extent(sendtype), whatever its lower bound is; here 12.
#include <mpi.h>
#include <stdio.h>

enum { kRanks = 4 };

int main(int argc, char** argv) {
  int rank, in[kRanks + 3], out[kRanks], bad = 0;
  const int one = 1, place = 3;
  MPI_Datatype type;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Type_indexed(1, &one, &place, MPI_INT, &type);
  MPI_Type_commit(&type);
  for (int i = 0; i < kRanks; ++i) in[i + 3] = 10 * rank + i, out[i] = -1;
  MPI_Alltoall(in, 1, type, out, 1, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < kRanks; ++i) bad += out[i] != 10 * i + rank;
  if (bad) printf("WRONG: %d %d %d %d, should be %d %d %d %d\n", out[0], out[1], out[2], out[3], rank, 10 + rank, 20 + rank, 30 + rank);
  else printf("ok\n");
  MPI_Type_free(&type);
  MPI_Finalize();
  return bad > 0;
}
