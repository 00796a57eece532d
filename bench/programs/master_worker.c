// Small messages from all workers to a master that takes them in any order: master_worker DIR MESSAGES
#include "bench.h"

enum { kCredit = 512, kAhead = 2 };

static void master(long messages) {
  static long had[4096];
  for (long i = 0; i < messages; ++i) {
    uint64_t value;
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    ++calls;
    ++wildcards;
    if (++had[status.MPI_SOURCE] % kCredit == 0) {
      MPI_Send(&value, 1, MPI_UINT64_T, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
      ++calls;
    }
  }
}

static void worker(long messages) {
  const long mine = messages / (size - 1) + (rank - 1 < messages % (size - 1) ? 1 : 0);
  long credits = 0;
  for (long i = 1; i <= mine; ++i) {
    uint64_t value = (uint64_t)i;
    MPI_Send(&value, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
    ++calls;
    while (i / kCredit - credits >= kAhead || (i == mine && credits < mine / kCredit)) {
      MPI_Recv(&value, 1, MPI_UINT64_T, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ++calls;
      ++credits;
    }
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long messages = atol(argv[2]);
  if (rank == 0)
    master(messages);
  else
    worker(messages);
  fclose(end(argv[1]));
  MPI_Finalize();
}
