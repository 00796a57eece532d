// A token goes round: each rank loads a flag of its window again and again, with a call of MPI in between, until it is there. What
// it reads may have come in the call, after it and before the load, or after the load.
#include "common.h"

// MPICH does not bring the others' accesses forward in MPI_Win_sync.
#ifdef MPICH_VERSION
enum { kFirstKind = 1 };
#else
enum { kFirstKind = 0 };
#endif
enum { kRounds = 12 };

static volatile int* flag;
static MPI_Win window;

static void sync_window(void) { MPI_Win_sync(window); }

static void make_progress(void) {
  int found;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
}

static int wait_for(int round, int kind) {
  int loads = 0;
  for (;;) {
    sync_window();
    jitter(600);
    const int there = *flag;
    ++loads;
    jitter(600);
    if (there >= round) return loads;
    if (kind > 0) make_progress();
    if (kind > 1 && loads % 3 == 0) sync_window();
  }
}

static void pass_on(int round, int to) {
  MPI_Accumulate(&round, 1, MPI_INT, to, 0, 1, MPI_INT, MPI_REPLACE, window);
  MPI_Win_flush(to, window);
}

int main(int argc, char** argv) {
  int* memory;
  start(&argc, &argv);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  flag = memory;
  *flag = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  const int next = (world_rank + 1) % world_size;
  for (int round = 1; round <= kRounds; ++round) {
    if (world_rank == 0) pass_on(round, next);
    const int loads = wait_for(round, kFirstKind + round % (3 - kFirstKind));
    if (round % 4 != 0) say("round %d after %d loads", round, loads);
    else fold((uint64_t)loads);
    if (world_rank != 0) pass_on(round, next);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  finish();
}
