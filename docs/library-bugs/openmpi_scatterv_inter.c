// MPI_Scatterv on an intercommunicator: "message truncated" if the sides use different datatypes. Run with 4 processes. (coll/inter)
// MPI 3.1, 5.6: the type signatures must match, not the datatypes. The root has pairs of ints, the others ints.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { kCount = 10 };

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it hangs\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  int in[2 * kCount], out[2 * kCount], rank, bad = 0;
  const int counts[2] = {kCount / 2, kCount / 2}, places[2] = {0, kCount / 2};
  MPI_Comm local, inter;
  MPI_Datatype pair;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGALRM, ends);
  alarm(5);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &local);
  MPI_Intercomm_create(local, 0, MPI_COMM_WORLD, rank < 2 ? 2 : 0, 3, &inter);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  for (int i = 0; i < 2 * kCount; ++i) in[i] = i, out[i] = -1;
  const int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;
  const int code = MPI_Scatterv(in, counts, places, pair, out, kCount, MPI_INT, root, inter);
  for (int i = 0; rank >= 2 && i < kCount; ++i) bad += out[i] != (rank - 2) * kCount + i;
  if (rank >= 2 && (code || bad)) printf("WRONG: error %d, %d elements\n", code, bad);
  else if (rank >= 2) printf("ok\n");
  fflush(stdout);
  MPI_Finalize();
  return bad > 0;
}
