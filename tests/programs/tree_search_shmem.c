// tree_search.h with OpenSHMEM.
#include "tree_search.h"

#include "shmem_common.h"

static uint64_t compare_and_swap(int rank, int word, uint64_t expected, uint64_t wanted) {
  return shmem_ulong_atomic_compare_swap((unsigned long*)memory + word, expected, wanted, rank);
}

static void store_atomically(int rank, int word, uint64_t value) {
  shmem_ulong_atomic_set((unsigned long*)memory + word, value, rank);
  shmem_quiet();
}

static int64_t add(int rank, int word, int64_t change) {
  if (change == 0) return shmem_long_atomic_fetch((long*)memory + word, rank);
  return shmem_long_atomic_fetch_add((long*)memory + word, change, rank);
}

static void load(int rank, int word, uint64_t* into, int count) { shmem_uint64_get_nbi(into, memory + word, (size_t)count, rank); }
static void store(int rank, int word, const uint64_t* from, int count) { shmem_uint64_put(memory + word, from, (size_t)count, rank); }
static void wait_for_loads_and_stores(int rank) {
  (void)rank;
  shmem_quiet();
}
static void make_visible(void) {}

int main(int argc, char** argv) {
  shmem_init();
  open_pe(argc, argv);
  memory = shmem_malloc(kWords * sizeof(uint64_t));
  plant();
  shmem_barrier_all();
  search();
  shmem_barrier_all();
  shmem_free(memory);
  finish_pe();
}
