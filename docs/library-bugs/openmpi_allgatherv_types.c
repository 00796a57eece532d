// MPI_Allgatherv hangs if the processes use different datatypes of one signature. Run with 3 processes.
// MPI 3.1, 5.7: the type signatures must match, not the datatypes. All send 100 ints, rank 0 as one item of 100.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { kCount = 100 };

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it hangs\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  static int in[kCount], out[3 * kCount];
  const int counts[3] = {kCount, kCount, kCount}, places[3] = {0, kCount, 2 * kCount};
  int rank, bad = 0;
  MPI_Datatype many;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGALRM, ends);
  alarm(5);
  MPI_Type_contiguous(kCount, MPI_INT, &many);
  MPI_Type_commit(&many);
  for (int i = 0; i < kCount; ++i) in[i] = rank * kCount + i;
  if (rank == 0) MPI_Allgatherv(in, 1, many, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  else MPI_Allgatherv(in, kCount, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 3 * kCount; ++i) bad += out[i] != i;
  printf(bad ? "WRONG: %d numbers\n" : "ok\n", bad);
  MPI_Finalize();
  return bad > 0;
}
