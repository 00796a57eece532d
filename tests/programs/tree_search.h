// An unbalanced tree is searched by all ranks; who has nothing left steals from others, one-sidedly: locks by compare-and-swap,
// stacks that are read and shortened from outside, and an end that is found by counting. (After UTS, which OPR's paper uses.)
//
// Whoever includes this says how words of a rank's memory are reached: accesses are complete when they return.
#ifndef TESTS_PROGRAMS_TREE_SEARCH_H
#define TESTS_PROGRAMS_TREE_SEARCH_H

#include "common.h"

enum { kLock, kHead, kTail, kThief, kAmount, kPending, kNodes = 8, kCapacity = 2048, kWords = kNodes + 2 * kCapacity };

static uint64_t* memory;
static uint64_t visited, order = 1469598103934665603u;

static uint64_t compare_and_swap(int rank, int word, uint64_t expected, uint64_t wanted);
static void store_atomically(int rank, int word, uint64_t value);
static int64_t add(int rank, int word, int64_t change);  // what was there before
static void load(int rank, int word, uint64_t* into, int count);
static void store(int rank, int word, const uint64_t* from, int count);
static void wait_for_loads_and_stores(int rank);
static void make_visible(void);  // what others wrote to this rank's memory, and what it wrote itself

static uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static void lock(int rank) {
  while (compare_and_swap(rank, kLock, 0, (uint64_t)world_rank + 1) != 0) jitter(30);
  make_visible();
}

static void unlock(int rank) {
  make_visible();
  store_atomically(rank, kLock, 0);
}

static int64_t pending(int64_t change) { return add(0, kPending, change) + change; }

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
  load(victim, kHead, ends, 2);
  wait_for_loads_and_stores(victim);
  const uint64_t amount = (ends[1] - ends[0]) / 2;
  for (uint64_t i = 0; i < amount; ++i) load(victim, kNodes + (int)(2 * ((ends[0] + i) % kCapacity)), loot + 2 * i, 2);
  if (amount > 0) {
    ends[0] += amount;
    note[0] = (uint64_t)world_rank + 1;
    note[1] = amount;
    store(victim, kHead, ends, 1);
    store(victim, kThief, note, 2);
    wait_for_loads_and_stores(victim);
  }
  unlock(victim);
  if (amount == 0) return 0;
  say("stole %d from %d", (int)amount, victim);
  push(loot, (int)amount);
  return 1;
}

// Before anybody reaches it.
static void plant(void) {
  memset(memory, 0, kWords * sizeof(uint64_t));
  if (world_rank != 0) return;
  memory[kNodes] = 42;
  memory[kTail] = 1;
  memory[kPending] = 1;
}

static void search(void) {
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
  fold(order);
  say("visited %d, in the order %016llx", (int)visited, (unsigned long long)order);
}

#endif
