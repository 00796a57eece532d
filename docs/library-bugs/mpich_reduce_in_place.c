// MPI_Reduce with MPI_IN_PLACE crashes if the root is not 0 and the vector longer than 2 KiB. Run with 2 or more processes.
// MPI 3.1, 5.9.1: in place is allowed at the root, whichever that is; recvbuf is significant at the root only.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { kCount = 2000 };

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  static int numbers[kCount];
  int rank, size, bad = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  signal(SIGSEGV, ends);
  for (int i = 0; i < kCount; ++i) numbers[i] = i;
  if (rank == 1) MPI_Reduce(MPI_IN_PLACE, numbers, kCount, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  else MPI_Reduce(numbers, NULL, kCount, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
  for (int i = 0; rank == 1 && i < kCount; ++i) bad += numbers[i] != size * i;
  if (rank == 1) printf(bad ? "WRONG: %d elements\n" : "ok\n", bad);
  MPI_Finalize();
  return bad > 0;
}
