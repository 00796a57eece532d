// MPI_Accumulate of pairs with padding writes outside of its memory, or loses elements. Run with 2 processes. (osc/rdma)
// MPI 3.1, 11.3.4: any predefined operation, with MPI_DOUBLE_INT for MPI_MAXLOC, which has 12 bytes of data in 16.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { kCount = 9 };

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  static _Alignas(64) struct pair {
    double value;
    int index;
  } given[kCount], memory[kCount];
  int rank, bad = 0;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGSEGV, ends);
  signal(SIGABRT, ends);
  for (int i = 0; i < kCount; ++i) given[i] = (struct pair){2, 20 + i}, memory[i] = (struct pair){1, 10 + i};
  MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Accumulate(given, kCount, MPI_DOUBLE_INT, 1, 0, kCount, MPI_DOUBLE_INT, MPI_MAXLOC, window);
  MPI_Win_fence(0, window);
  for (int i = 0; rank == 1 && i < kCount; ++i) bad += memory[i].value != 2 || memory[i].index != 20 + i;
  if (rank == 1) printf(bad ? "WRONG: %d elements are not the greater ones\n" : "ok\n", bad);
  fflush(stdout);
  MPI_Win_free(&window);
  MPI_Finalize();
  return bad > 0;
}
