// MPI_Compare_and_swap on the own window crashes. Run with 2 processes on one host. (osc/rdma with btl/vader)
// MPI 3.1, 11.3: the target may be the calling process.
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

static void ends(int signal) {
  (void)signal;
  static const char text[] = "WRONG: it crashes\n";
  if (write(1, text, sizeof text - 1) < 0) _exit(2);
  _exit(1);
}

int main(int argc, char** argv) {
  static _Alignas(64) int64_t memory;
  int64_t compared = 0, given = 5, was = -1;
  int rank;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGSEGV, ends);
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  if (rank == 0) MPI_Compare_and_swap(&given, &compared, &was, MPI_INT64_T, 0, 0, window);
  MPI_Win_fence(0, window);
  const int bad = rank == 0 && (was != 0 || memory != 5);
  if (rank == 0) printf(bad ? "WRONG: was %ld, is %ld, should be 0 and 5\n" : "ok\n", (long)was, (long)memory);
  MPI_Win_free(&window);
  MPI_Finalize();
  return bad;
}
