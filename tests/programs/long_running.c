// 10^5 messages from the workers to a master that takes them in any order and answers every 500th of each worker with
// its digest so far. A line per 1000 messages; a progress map that outlives SIGKILL (see common.h).
//
//   long_running DIR [--messages N] [--fault none|segv|abort|mpi_abort|exit|exit_zero] [--rank R] [--at CALLS]
//                    [--clock READS]
//
// The fault strikes rank R once it has made CALLS calls. The sum of all values does not depend on the order, so a
// run's result can be checked without a replay. Every rank reads the clock READS times per message, which makes its log
// grow fast and changes nothing else.
#include <signal.h>

#include "common.h"

enum { kCredit = 500, kAhead = 2 };

static const char* fault = "none";
static int fault_rank = 0;
static long fault_at = -1;
static long messages = 100000;
static long clock_reads = 0;

static void options(int argc, char** argv) {
  for (int i = 2; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--messages") == 0) messages = atol(argv[i + 1]);
    if (strcmp(argv[i], "--fault") == 0) fault = argv[i + 1];
    if (strcmp(argv[i], "--rank") == 0) fault_rank = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--at") == 0) fault_at = atol(argv[i + 1]);
    if (strcmp(argv[i], "--clock") == 0) clock_reads = atol(argv[i + 1]);
  }
}

static void maybe_fail(void) {
  for (long i = 0; i < clock_reads; ++i) MPI_Wtime();
  if (world_rank != fault_rank || fault_at < 0 || (long)progress->ended < fault_at) return;
  fault_at = -1;
  say("now: %s", fault);
  if (strcmp(fault, "segv") == 0) {
    int* volatile nowhere = NULL;
    *nowhere = 1;
  }
  if (strcmp(fault, "abort") == 0) abort();
  if (strcmp(fault, "mpi_abort") == 0) CALL(MPI_Abort(MPI_COMM_WORLD, 7));
  if (strcmp(fault, "exit") == 0) exit(3);
  if (strcmp(fault, "exit_zero") == 0) exit(0);
}

static long share(int rank) {
  const long workers = world_size - 1;
  return messages / workers + (rank - 1 < messages % workers ? 1 : 0);
}

static void master(void) {
  static long had[4096];
  uint64_t sum = 0;
  for (long i = 1; i <= messages; ++i) {
    MPI_Status status;
    uint64_t value;
    CALL(MPI_Recv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status));
    fold(value + (uint64_t)status.MPI_SOURCE);
    sum += value;
    if (i % 1000 == 0) say("%ld messages, digest %016llx", i, (unsigned long long)digest);
    if (++had[status.MPI_SOURCE] % kCredit == 0)
      CALL(MPI_Send(&digest, 1, MPI_UINT64_T, status.MPI_SOURCE, 2, MPI_COMM_WORLD));
    maybe_fail();
  }
  say("sum %llu", (unsigned long long)sum);
}

static void worker(void) {
  long credits = 0;
  const long mine = share(world_rank);
  for (long i = 1; i <= mine; ++i) {
    uint64_t value = (uint64_t)world_rank * 1000003u + (uint64_t)i;
    if (i % 250 == 0) jitter(300);
    CALL(MPI_Send(&value, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD));
    while (i / kCredit - credits >= kAhead || (i == mine && credits < mine / kCredit)) {
      uint64_t seen;
      CALL(MPI_Recv(&seen, 1, MPI_UINT64_T, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      fold(seen);
      if (++credits % 2 == 0) say("%ld sent, the master saw %016llx", i, (unsigned long long)seen);
    }
    maybe_fail();
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  options(argc, argv);
  open_progress();
  const int fd = out_file("pid", ".txt", O_WRONLY);
  dprintf(fd, "%ld\n", (long)getpid());
  close(fd);
  if (world_rank == 0)
    master();
  else
    worker();
  finish();
}
