// One-sided communication, five ways: stencil, gups, tree, queue, cg. OUT UNITS WORD
#include "bench.h"

static MPI_Win window;

// Two rows of halo are put to the neighbours, between fences.
static void stencil(long rounds) {
  enum { kSide = 512, kRows = 64 };
  double* grid;
  double* const other = calloc((kRows + 2) * kSide, sizeof(double));
  MPI_Win_allocate((kRows + 2) * kSide * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &grid, &window);
  for (int i = 0; i < (kRows + 2) * kSide; ++i) grid[i] = other[i] = (double)((i * 31 + rank) % 97);
  const int up = (rank + size - 1) % size, down = (rank + 1) % size;
  MPI_Win_fence(0, window);
  for (long round = 0; round < rounds; ++round) {
    MPI_Put(grid + kSide, kSide, MPI_DOUBLE, up, (kRows + 1) * kSide, kSide, MPI_DOUBLE, window);
    MPI_Put(grid + kRows * kSide, kSide, MPI_DOUBLE, down, 0, kSide, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    for (int row = 1; row <= kRows; ++row)
      for (int i = 1; i + 1 < kSide; ++i) {
        const double* at = grid + row * kSide + i;
        other[row * kSide + i] = 0.25 * (at[-1] + at[1] + at[-kSide] + at[kSide]);
      }
    memcpy(grid + kSide, other + kSide, kRows * kSide * sizeof(double));
    MPI_Win_fence(0, window);
    calls += 4;
  }
  MPI_Win_free(&window);
  free(other);
}

// Random updates of a table that all have a part of, without any order.
static void gups(long updates) {
  enum { kWords = 1 << 14 };
  uint64_t* table;
  uint32_t state = 1u + (uint32_t)rank;
  MPI_Win_allocate(kWords * sizeof(uint64_t), sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &table, &window);
  memset(table, 0, kWords * sizeof(uint64_t));
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (long i = 0; i < updates; ++i) {
    const uint64_t value = (uint64_t)next_random(&state) << 20 ^ next_random(&state);
    MPI_Accumulate(&value, 1, MPI_UINT64_T, (int)(next_random(&state) % (uint32_t)size), next_random(&state) % kWords, 1, MPI_UINT64_T, MPI_BXOR,
                   window);
    if (i % 64 == 63) MPI_Win_flush_all(window);
    ++calls;
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// Work that is divided, stolen and counted (tests/programs/tree_search.h is the same with more to see).
static void tree(long nodes) {
  int64_t* left;
  MPI_Win_allocate(2 * sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &left, &window);
  left[0] = rank == 0 ? nodes : 0;
  left[1] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  uint32_t state = 7u + (uint32_t)rank;
  const int64_t zero = 0, minus = -1;
  for (int64_t done = 0;;) {
    int64_t mine = 0, all = 0;
    MPI_Fetch_and_op(&minus, &mine, MPI_INT64_T, rank, 0, MPI_SUM, window);  // take one of one's own
    MPI_Win_flush(rank, window);
    calls += 2;
    if (mine > 0) {
      busy(20000);
      ++done;
      continue;
    }
    if (done > 0) MPI_Fetch_and_op(&done, &all, MPI_INT64_T, 0, 1, MPI_SUM, window);
    else MPI_Fetch_and_op(&zero, &all, MPI_INT64_T, 0, 1, MPI_NO_OP, window);
    MPI_Win_flush(0, window);
    all += done;
    done = 0;
    if (all >= nodes) break;
    const int victim = (int)(next_random(&state) % (uint32_t)size);
    int64_t there = 0, before = 0;
    MPI_Fetch_and_op(&zero, &there, MPI_INT64_T, victim, 0, MPI_NO_OP, window);
    MPI_Win_flush(victim, window);
    calls += 4;
    if (victim == rank || there < 2) continue;
    const int64_t half = there - there / 2;
    MPI_Compare_and_swap(&half, &there, &before, MPI_INT64_T, victim, 0, window);
    MPI_Win_flush(victim, window);
    calls += 2;
    if (before != there) continue;
    const int64_t loot = there / 2;
    MPI_Accumulate(&loot, 1, MPI_INT64_T, rank, 0, 1, MPI_INT64_T, MPI_REPLACE, window);
    MPI_Win_flush(rank, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// A queue in rank 0's window, under a lock.
static void queue(long turns) {
  enum { kSlots = 256 };
  int64_t* memory;
  MPI_Win_allocate((kSlots + 2) * sizeof(int64_t), sizeof(int64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, (kSlots + 2) * sizeof(int64_t));
  MPI_Barrier(MPI_COMM_WORLD);
  for (long i = 0; i < turns; ++i) {
    int64_t ends[2], item = i * size + rank;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(ends, 2, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, window);
    MPI_Win_flush(0, window);
    if (ends[1] - ends[0] < kSlots && (i + rank) % 2 == 0) {
      MPI_Put(&item, 1, MPI_INT64_T, 0, 2 + ends[1]++ % kSlots, 1, MPI_INT64_T, window);
    } else if (ends[0] < ends[1]) {
      MPI_Get(&item, 1, MPI_INT64_T, 0, 2 + ends[0]++ % kSlots, 1, MPI_INT64_T, window);
    }
    MPI_Put(ends, 2, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, window);
    MPI_Win_unlock(0, window);
    calls += 6;
    busy(2000);
  }
  MPI_Win_free(&window);
}

// Conjugate gradients: vectors are got from the neighbours, sums go through MPI_Allreduce.
static void cg(long rounds) {
  enum { kRows = 20000 };
  double *p, *halo = calloc(2, sizeof(double)), *x = calloc(kRows, sizeof(double)), *r = calloc(kRows, sizeof(double)),
             *q = calloc(kRows, sizeof(double));
  MPI_Win_allocate(kRows * sizeof(double), sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &p, &window);
  const int up = (rank + size - 1) % size, down = (rank + 1) % size;
  double rho = 0, sum;
  for (int i = 0; i < kRows; ++i) {
    p[i] = r[i] = (double)((i * 7 + rank) % 13);
    rho += r[i] * r[i];
  }
  MPI_Allreduce(MPI_IN_PLACE, &rho, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  for (long round = 0; round < rounds; ++round) {
    MPI_Win_fence(0, window);
    MPI_Get(&halo[0], 1, MPI_DOUBLE, up, kRows - 1, 1, MPI_DOUBLE, window);
    MPI_Get(&halo[1], 1, MPI_DOUBLE, down, 0, 1, MPI_DOUBLE, window);
    MPI_Win_fence(0, window);
    double pq = 0, next = 0;
    for (int i = 0; i < kRows; ++i) {
      q[i] = 4 * p[i] - (i > 0 ? p[i - 1] : halo[0]) - (i + 1 < kRows ? p[i + 1] : halo[1]);
      pq += p[i] * q[i];
    }
    MPI_Allreduce(&pq, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double alpha = rho / sum;
    for (int i = 0; i < kRows; ++i) {
      x[i] += alpha * p[i];
      r[i] -= alpha * q[i];
      next += r[i] * r[i];
    }
    MPI_Allreduce(&next, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < kRows; ++i) p[i] = r[i] + sum / rho * p[i];
    rho = sum > 0 ? sum : 1;
    calls += 6;
  }
  MPI_Win_free(&window);
  free(halo), free(x), free(r), free(q);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long units = argc > 2 ? atol(argv[2]) : 100;
  const char* const word = argc > 3 ? argv[3] : "stencil";
  if (strcmp(word, "stencil") == 0) stencil(units);
  else if (strcmp(word, "gups") == 0) gups(units);
  else if (strcmp(word, "tree") == 0) tree(units);
  else if (strcmp(word, "queue") == 0) queue(units);
  else cg(units);
  MPI_Barrier(MPI_COMM_WORLD);
  fclose(end(argv[1]));
  MPI_Finalize();
  return 0;
}
