// MPI_Alltoallw on one process multiplies the displacements by the extent. Run with 1 process. (coll/self)
// MPI 3.1, 5.8: sdispls and rdispls of MPI_Alltoallw are in bytes.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int in[64], out[64], one = 1, from = 2 * sizeof(int), to = 3 * sizeof(int);
  MPI_Datatype type = MPI_INT;
  MPI_Init(&argc, &argv);
  for (int i = 0; i < 64; ++i) in[i] = 100 + i, out[i] = -1;
  MPI_Alltoallw(in, &one, &from, &type, out, &one, &to, &type, MPI_COMM_SELF);
  const int bad = out[3] != 102;
  if (!bad) printf("ok\n");
  for (int i = 0; bad && i < 64; ++i)
    if (out[i] != -1) printf("WRONG: out[%d] is %d, should be: out[3] is 102\n", i, out[i]);
  MPI_Finalize();
  return bad;
}
