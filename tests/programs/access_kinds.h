// Programs that see what others write by loading it, without any call in between: one for each kind, in C and in C++.
// What they print depends on when they looked.
#ifndef TESTS_PROGRAMS_ACCESS_KINDS_H
#define TESTS_PROGRAMS_ACCESS_KINDS_H

#include <stddef.h>

#include "kinds.h"

enum { kRounds = 16, kTurns = 6, kSlots = 64, kBlock = 32 };

static MPI_Win window;

static void* allocate(size_t bytes) {
  void* memory = NULL;
  MPI_Win_allocate((MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memset(memory, 0, bytes);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  return memory;
}

static void* share(size_t bytes) {
  void* memory = NULL;
  MPI_Win_allocate_shared(world_rank == 0 ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Aint size = 0;
  int unit = 0;
  MPI_Win_shared_query(window, 0, &size, &unit, &memory);
  if (world_rank == 0) memset(memory, 0, bytes);
  MPI_Win_lock_all(0, window);
  MPI_Barrier(MPI_COMM_WORLD);
  return memory;
}

static void give_up(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

static void put(const void* from, int bytes, int target, MPI_Aint at) {
  MPI_Put(from, bytes, MPI_BYTE, target, at, bytes, MPI_BYTE, window);
  MPI_Win_flush(target, window);
}

// MPICH puts nothing into the memory of a rank that makes no calls.
static void make_progress(long loads) {
  int flag = 0;
#ifdef MPICH_VERSION
  if (loads % 64 == 0) MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
#else
  (void)loads, (void)flag;
#endif
}

// A token goes round; who waits for it only loads.
static void spin(void) {
  volatile long* const token = (volatile long*)allocate(64);
  const int next = (world_rank + 1) % world_size;
  for (long round = 1; round <= kTurns; ++round) {
    long loads = 0;
    if (world_rank > 0)
      while (*token < round) make_progress(++loads);
    fold((uint64_t)loads);
    if (round % 2 == 0) say("round %ld after %ld loads", round, loads);
    jitter(200);
    put(&round, sizeof round, next, 0);
    if (world_rank == 0)
      while (*token < round) make_progress(++loads);
    fold((uint64_t)loads);
  }
  give_up();
}

// Work stealing as in the paper's Listing 1: who wants work asks by a compare-and-swap, and loads until it is told where the work is.
enum { kNone = -1, kWaiting = -2, kDenied = -3, kCapacity = 4096 };
typedef struct {
  volatile long stolen_work_addr;
  volatile long stolen_work_amt;
  volatile int req_thread;
  int unused;
  long open;  // at rank 0: nodes that are not done
  long stack[kCapacity];
} StealStack;

static int children_of(long node) {
  const uint64_t hash = (uint64_t)node * 0x9e3779b97f4a7c15u;
  const long depth = node & 31;
  return depth >= 9 ? 0 : depth < 4 ? 2 : (int)((hash >> 40) % 3);
}

static long add_open(long change) {
  long before = 0;
  MPI_Fetch_and_op(&change, &before, MPI_LONG, 0, offsetof(StealStack, open), MPI_SUM, window);
  MPI_Win_flush(0, window);
  return before + change;
}

static void answer(StealStack* own, long* local, long* top) {
  const int requestor = own->req_thread;
  if (requestor < 0) return;
  long amount = (*top - *local) / 2;
  long position = *local;
  if (amount == 0) position = kDenied;
  *local += amount;
  const int none = kNone;
  put(&amount, sizeof amount, requestor, offsetof(StealStack, stolen_work_amt));
  own->req_thread = none;
  put(&position, sizeof position, requestor, offsetof(StealStack, stolen_work_addr));
  fold((uint64_t)(requestor * 1000 + amount));
  say("gave %ld to %d", amount, requestor);
}

static void steal(void) {
  StealStack* const own = (StealStack*)allocate(sizeof(StealStack));
  long local = 0, top = 0, done = 0, loads = 0, thefts = 0;
  own->req_thread = kNone;
  own->open = 1;
  if (world_rank == 0) own->stack[top++] = 1 << 5;
  MPI_Barrier(MPI_COMM_WORLD);
  for (;;) {
    while (top > local) {
      const long node = own->stack[--top];
      const int children = children_of(node);
      for (int i = 0; i < children && top < kCapacity; ++i) own->stack[top++] = ((node >> 5) * 3 + i + 1) << 5 | ((node & 31) + 1);
      ++done;
      fold((uint64_t)node);
      add_open(children - 1);
      answer(own, &local, &top);
      jitter(60);
    }
    local = top = 0;
    if (add_open(0) == 0) break;
    const int victim = (world_rank + 1 + (int)(thefts++ % (world_size - 1))) % world_size;
    int free_slot = kNone, got = 0;
    own->stolen_work_addr = kWaiting;
    MPI_Compare_and_swap(&world_rank, &free_slot, &got, MPI_INT, victim, offsetof(StealStack, req_thread), window);
    MPI_Win_flush(victim, window);
    if (got != kNone) continue;
    while (own->stolen_work_addr == kWaiting) {
      make_progress(++loads);
      answer(own, &local, &top);
    }
    if (own->stolen_work_addr < 0) continue;
    const long amount = own->stolen_work_amt;
    MPI_Get(own->stack, (int)amount, MPI_LONG, victim, (MPI_Aint)offsetof(StealStack, stack) + own->stolen_work_addr * (MPI_Aint)sizeof(long), (int)amount,
            MPI_LONG, window);
    MPI_Win_flush(victim, window);
    top = amount;
    say("stole %ld from %d after %ld loads", amount, victim, loads);
    fold((uint64_t)(amount * 100 + victim));
  }
  // Others may still wait for an answer.
  MPI_Request over;
  int all = 0;
  MPI_Ibarrier(MPI_COMM_WORLD, &over);
  while (!all) {
    answer(own, &local, &top);
    MPI_Test(&over, &all, MPI_STATUS_IGNORE);
  }
  say("%ld nodes, %ld loads", done, loads);
  give_up();
}

// Shared memory, stored to and loaded from without order.
static void shared(void) {
  volatile int* const cells = (volatile int*)share(kSlots * sizeof(int));
  for (int round = 0; round < 20 * kRounds; ++round) {
    const int slot = (round * 7 + world_rank) % kSlots;
    cells[slot] = cells[slot] + world_rank + 1;
    fold((uint64_t)cells[(slot + 3) % kSlots]);
    if (round % 80 == 0) {
      say("cell %d is %d", slot, cells[slot]);
      jitter(300);
    }
  }
  give_up();
}

// Shared memory in which each rank stores to places of its own, and looks at the others'.
static void owned(void) {
  enum { kStep = 16 };
  volatile long* const cells = (volatile long*)share(kSlots * sizeof(long));
  for (int round = 0; round < 20 * kRounds; ++round) {
    const int slot = (round % kStep * world_size + world_rank) % kSlots;
    const long seen = cells[(slot + 1) % kSlots];
    cells[slot] = round * 10 + world_rank;
    fold((uint64_t)seen);
    if (round % 60 == 0) say("saw %ld", seen);
    if (round % 5 == 0) jitter(100);
  }
  give_up();
}

// Others put into what a rank adds up, without any order.
static void race(void) {
  long* const slots = (long*)allocate(kSlots * sizeof(long));
  for (int round = 0; round < kRounds; ++round) {
    const long value = round * 10 + world_rank;
    put(&value, sizeof value, (world_rank + 1 + round) % world_size, (round * 5 % kSlots) * (MPI_Aint)sizeof(long));
    long sum = 0;
    for (int again = 0; again < 5; ++again)
      for (int i = 0; i < kSlots; ++i) {
        sum += slots[i];
        __asm__ volatile("" ::: "memory");
      }
    slots[round % kSlots] = -sum % 1000;
    fold((uint64_t)sum);
    if (round % 5 == 0) say("sum %ld", sum);
  }
  give_up();
}

// Locks and counters in shared memory.
static void atomics(void) {
  typedef struct {
    int lock;
    unsigned short next;
    unsigned char turns;
    long total;
    long owners[kSlots];
    long flags[8];
  } Shared;
  Shared* const all = (Shared*)share(sizeof(Shared));
  long waits = 0;
  for (int round = 0; round < kRounds; ++round) {
    int expected = 0;
    while (!__atomic_compare_exchange_n(&all->lock, &expected, world_rank + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
      expected = 0;
      ++waits;
    }
    const unsigned short turn = all->next++;
    all->owners[turn % kSlots] = world_rank * 1000 + round;
    __atomic_store_n(&all->lock, 0, __ATOMIC_RELEASE);
    const long before = __atomic_fetch_add(&all->total, world_rank + 1, __ATOMIC_SEQ_CST);
    const unsigned char turns = __atomic_add_fetch(&all->turns, 1, __ATOMIC_RELAXED);
    const long flags = __atomic_exchange_n(&all->flags[round % 8], world_rank * 100 + round, __ATOMIC_ACQ_REL);
    fold((uint64_t)turn);
    fold((uint64_t)before);
    fold(turns);
    fold((uint64_t)flags);
    fold((uint64_t)all->owners[(turn + 1) % kSlots]);
    if (round % 5 == 0) say("turn %d, total %ld, waited %ld times", turn, before, waits);
    jitter(30);
  }
  give_up();
}

// Blocks are copied as a whole.
static void copies(void) {
  typedef struct {
    long words[kBlock];
  } Block;
  Block* const blocks = (Block*)allocate(8 * sizeof(Block));
  for (int round = 0; round < kRounds; ++round) {
    Block mine, seen;
    for (int i = 0; i < kBlock; ++i) mine.words[i] = round * 100 + world_rank;
    put(&mine, sizeof mine, (world_rank + 1) % world_size, (round % 8) * (MPI_Aint)sizeof(Block));
    memcpy(&seen, &blocks[round * 3 % 8], sizeof seen);
    for (int i = 0; i < kBlock; ++i) fold((uint64_t)seen.words[i]);
    seen = blocks[(round + 1) % 8];
    for (int i = 0; i < kBlock; ++i) fold((uint64_t)seen.words[i]);
    if (round % 7 == 0) memset(&blocks[round % 8], round, sizeof(Block) / 2);
    if (round % 11 == 0) memmove(&blocks[1], &blocks[2], sizeof(Block));
    if (round % 5 == 0) say("%ld and %ld", seen.words[0], seen.words[kBlock - 1]);
    jitter(100);
  }
  give_up();
}

// Loops that compilers make vectors of.
static void vectors(void) {
  enum { kLength = 1024 };
  double* const all = (double*)allocate(kLength * sizeof(double));
  static double copy[kLength];
  for (int round = 0; round < kRounds; ++round) {
    double mine[16];
    for (int i = 0; i < 16; ++i) mine[i] = round + world_rank * 0.5;
    put(mine, sizeof mine, (world_rank + 1) % world_size, (round * 37 % (kLength - 16)) * (MPI_Aint)sizeof(double));
    double sum = 0;
    for (int i = 0; i < kLength; ++i) copy[i] = all[i] * 2 + 1;
    for (int i = 0; i < kLength; ++i) sum += copy[i];
    for (int i = 0; i < kLength / 2; ++i) all[i] = all[i] * 0.5;
    fold((uint64_t)(long)(sum * 16));
    if (round % 5 == 0) say("sum %.4f", sum);
  }
  give_up();
}

// The program's own memory; some of what is stored there, code without hooks stores: the C library, and MPI.
static void create(void) {
  enum { kBytes = 256 };
  char* const memory = (char*)calloc(2, kBytes);
  int found = 0;
  void* base = NULL;
  memcpy(memory, "before the window", 18);
  MPI_Win_create(memory, 2 * kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_get_attr(window, MPI_WIN_BASE, &base, &found);
  say("base %d, %s", found && base == memory, memory);
  MPI_Win_fence(0, window);
  for (int round = 0; round < 5; ++round) {
    char there[kBytes], mine[kBytes] = {0};
    const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
    snprintf(memory, kBytes, "rank %d in round %d", world_rank, round);
    snprintf(mine, kBytes, "%d to %d, round %d, digest %d", world_rank, right, round, (int)(digest & 0xff));
    MPI_Sendrecv(mine, kBytes / 2, MPI_CHAR, right, round, memory + kBytes / 2, kBytes / 2, MPI_CHAR, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_fence(0, window);
    MPI_Get(there, kBytes, MPI_CHAR, right, 0, kBytes, MPI_CHAR, window);
    MPI_Put(mine, 64, MPI_CHAR, left, kBytes + 64 * (round % 4), 64, MPI_CHAR, window);
    MPI_Win_fence(0, window);
    say("%s | %s | %s", there, there + kBytes / 2, memory + kBytes + 64 * (round % 4));
    for (int i = 0; i < 2 * kBytes; ++i) fold((uint64_t)memory[i]);
    // Who comes first: everybody's output is another one each time.
    int first = 0;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Fetch_and_op(&world_rank, &first, MPI_INT, 0, 2 * kBytes - 8, MPI_REPLACE, window);
    MPI_Win_unlock(0, window);
    fold((uint64_t)first);
    MPI_Win_fence(0, window);
  }
  MPI_Win_free(&window);
  say("afterwards %s", memory);
  free(memory);
}

// Loads, messages and puts meet in the same few bytes; what a message brought must not be lost, nor come later than a store behind it.
static void mixed(void) {
  enum { kOwn = 8 };
  MPI_Win attached;
  volatile int* own = NULL;
  volatile int* others = NULL;
  int* const far = (int*)calloc((size_t)world_size, sizeof(int));
  MPI_Aint size = 0, here = 0, addresses[64];
  int unit = 0;
  const int right = (world_rank + 1) % world_size, left = (world_rank + world_size - 1) % world_size;
  MPI_Win_allocate_shared(kOwn * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&own, &window);
  MPI_Win_shared_query(window, left, &size, &unit, (void*)&others);
  MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &attached);
  MPI_Win_attach(attached, far, (MPI_Aint)sizeof(int) * world_size);
  MPI_Get_address(far, &here);
  MPI_Allgather(&here, 1, MPI_AINT, addresses, 1, MPI_AINT, MPI_COMM_WORLD);
  for (int i = 0; i < kOwn; ++i) own[i] = 0;
  MPI_Win_lock_all(0, window);
  MPI_Win_lock_all(0, attached);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int round = 1; round <= 5; ++round) {
    const int given = round * 100 + world_rank;
    long loads = 0;
    for (int i = 0; i < 5; ++i) own[i % 3] = own[i % 3] + others[i % 3] % 7 + 1;
    MPI_Sendrecv(&given, 1, MPI_INT, right, 1, (void*)&own[4], 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (own[4] != round * 100 + left) die("a message was lost");
    __atomic_store_n(&own[5], round, __ATOMIC_RELEASE);
    while (__atomic_load_n(&others[5], __ATOMIC_ACQUIRE) < round) make_progress(++loads);
    if (others[4] < round * 100) die("a message came late");
    fold((uint64_t)loads + (uint64_t)others[1]);
    const int value = round * 10 + world_rank;
    MPI_Put(&value, 1, MPI_INT, right, addresses[right] + (MPI_Aint)sizeof(int) * world_rank, 1, MPI_INT, attached);
    own[3] = 0;
    MPI_Win_flush(right, attached);
    fold((uint64_t)far[left]);
    if (round % 2 == 0) say("round %d: %d, %ld loads", round, others[0], loads);
    while (__atomic_load_n(&others[5], __ATOMIC_ACQUIRE) < round) make_progress(++loads);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Win_unlock_all(attached);
  MPI_Win_detach(attached, far);
  MPI_Win_free(&attached);
  give_up();
  free(far);
}

#define ACCESS_KINDS                                                                                            \
  {"spin", spin}, {"steal", steal}, {"shared", shared}, {"owned", owned}, {"race", race}, {"atomics", atomics}, \
      {"copies", copies}, {"vectors", vectors}, {"create", create}, {"mixed", mixed}

static int run_access(int argc, char** argv, const struct kind* kinds, size_t count) {
  start(&argc, &argv);
  run_kinds(argc, argv, kinds, count, tell_digests);
  MPI_Finalize();
  say("done");
  return 0;
}

#endif
