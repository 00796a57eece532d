// tree_search.h with MPI's windows.
#include "tree_search.h"

static MPI_Win window;

static uint64_t compare_and_swap(int rank, int word, uint64_t expected, uint64_t wanted) {
  uint64_t before = 0;
  MPI_Compare_and_swap(&wanted, &expected, &before, MPI_UINT64_T, rank, word, window);
  MPI_Win_flush(rank, window);
  return before;
}

static void store_atomically(int rank, int word, uint64_t value) {
  MPI_Accumulate(&value, 1, MPI_UINT64_T, rank, word, 1, MPI_UINT64_T, MPI_REPLACE, window);
  MPI_Win_flush(rank, window);
}

static int64_t add(int rank, int word, int64_t change) {
  int64_t before = 0;
  MPI_Fetch_and_op(&change, &before, MPI_INT64_T, rank, word, change ? MPI_SUM : MPI_NO_OP, window);
  MPI_Win_flush(rank, window);
  return before;
}

static void load(int rank, int word, uint64_t* into, int count) {
  MPI_Get(into, count, MPI_UINT64_T, rank, word, count, MPI_UINT64_T, window);
}

static void store(int rank, int word, const uint64_t* from, int count) {
  MPI_Put(from, count, MPI_UINT64_T, rank, word, count, MPI_UINT64_T, window);
}

static void wait_for_loads_and_stores(int rank) { MPI_Win_flush(rank, window); }
static void make_visible(void) { MPI_Win_sync(window); }

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Win_allocate(kWords * sizeof(uint64_t), sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  plant();
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  search();
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  finish();
}
