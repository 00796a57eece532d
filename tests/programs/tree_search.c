// An unbalanced tree is searched by all ranks; who has nothing left steals from others, one-sidedly: locks by compare-and-swap,
// stacks that are read and shortened from outside, and an end that is found by counting. (After UTS, which OPR's paper uses.)
#include "common.h"

enum { kLock, kHead, kTail, kThief, kAmount, kPending, kNodes = 8, kCapacity = 2048, kWords = kNodes + 2 * kCapacity };

static uint64_t* memory;
static MPI_Win window;
static uint64_t visited, order = 1469598103934665603u;

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static void lock(int rank) {
  const uint64_t none = 0, mine = (uint64_t)world_rank + 1;
  uint64_t old = 1;
  for (;;) {
    MPI_Compare_and_swap(&mine, &none, &old, MPI_UINT64_T, rank, kLock, window);
    MPI_Win_flush(rank, window);
    if (old == 0) break;
    jitter(30);
  }
  MPI_Win_sync(window);
}

static void unlock(int rank) {
  const uint64_t none = 0;
  MPI_Win_sync(window);
  MPI_Accumulate(&none, 1, MPI_UINT64_T, rank, kLock, 1, MPI_UINT64_T, MPI_REPLACE, window);
  MPI_Win_flush(rank, window);
}

static int64_t pending(int64_t change) {
  int64_t before = 0;
  MPI_Fetch_and_op(&change, &before, MPI_INT64_T, 0, kPending, change ? MPI_SUM : MPI_NO_OP, window);
  MPI_Win_flush(0, window);
  return before + change;
}

static uint64_t* node(uint64_t number) { return memory + kNodes + 2 * (number % kCapacity); }

static void push(const uint64_t* nodes, int count) {
  lock(world_rank);
  for (int i = 0; i < count; ++i) memcpy(node(memory[kTail]++), nodes + 2 * i, 2 * sizeof(uint64_t));
  unlock(world_rank);
}

static int pop(uint64_t* into) {
  lock(world_rank);
  const int any = memory[kHead] < memory[kTail];
  if (any) memcpy(into, node(--memory[kTail]), 2 * sizeof(uint64_t));
  if (memory[kThief]) {
    say("robbed by %d of %d", (int)memory[kThief] - 1, (int)memory[kAmount]);
    memory[kThief] = 0;
  }
  unlock(world_rank);
  return any;
}

// A node: its value, and its depth.
static void visit(const uint64_t* one) {
  uint64_t children[2 * 8];
  const int most = one[1] == 0 ? 8 : one[1] < 9 ? 4 : 0;
  const int count = most == 0 ? 0 : one[1] == 0 ? most : (int)(mix(one[0]) % (uint64_t)(most + 1)) * (mix(one[0] + 1) % 4 != 0);
  ++visited;
  order = (order ^ one[0]) * 1099511628211u;
  jitter(150);
  for (int i = 0; i < count; ++i) {
    children[2 * i] = mix(one[0] * 31 + (uint64_t)i + 7);
    children[2 * i + 1] = one[1] + 1;
  }
  pending(count - 1);
  if (count > 0) push(children, count);
}

static int steal(int victim) {
  uint64_t ends[2], loot[2 * kCapacity], note[2];
  lock(victim);
  MPI_Get(ends, 2, MPI_UINT64_T, victim, kHead, 2, MPI_UINT64_T, window);
  MPI_Win_flush(victim, window);
  const uint64_t amount = (ends[1] - ends[0]) / 2;
  for (uint64_t i = 0; i < amount; ++i)
    MPI_Get(loot + 2 * i, 2, MPI_UINT64_T, victim, kNodes + (MPI_Aint)(2 * ((ends[0] + i) % kCapacity)), 2, MPI_UINT64_T, window);
  if (amount > 0) {
    ends[0] += amount;
    note[0] = (uint64_t)world_rank + 1;
    note[1] = amount;
    MPI_Put(ends, 1, MPI_UINT64_T, victim, kHead, 1, MPI_UINT64_T, window);
    MPI_Put(note, 2, MPI_UINT64_T, victim, kThief, 2, MPI_UINT64_T, window);
    MPI_Win_flush(victim, window);
  }
  unlock(victim);
  if (amount == 0) return 0;
  say("stole %d from %d", (int)amount, victim);
  push(loot, (int)amount);
  return 1;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Win_allocate(kWords * sizeof(uint64_t), sizeof(uint64_t), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  memset(memory, 0, kWords * sizeof(uint64_t));
  if (world_rank == 0) {
    memory[kNodes] = 42;
    memory[kTail] = 1;
    memory[kPending] = 1;
  }
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  uint64_t one[2], tries = 0;
  for (;;) {
    if (pop(one)) {
      visit(one);
      continue;
    }
    if (pending(0) == 0) break;
    const int victim = (int)(mix((uint64_t)world_rank * 7919 + ++tries) % (uint64_t)world_size);
    if (victim != world_rank && !steal(victim)) jitter(100);
  }
  MPI_Win_unlock_all(window);
  fold(order);
  say("visited %d, in the order %016llx", (int)visited, (unsigned long long)order);
  MPI_Win_free(&window);
  finish();
}
