// OpenSHMEM programs that see what others put by loading it, without any call in between: the kinds that the arguments name.
// Also compiled as C++.
#include <stddef.h>

#include "kinds.h"
#include "shmem_common.h"

enum { kTurns = 6, kRounds = 30, kSlots = 64, kBlock = 32 };

static void* allocate(size_t bytes) {
  void* const memory = shmem_malloc(bytes);
  memset(memory, 0, bytes);
  shmem_barrier_all();
  return memory;
}

static void give_up(volatile void* memory) {
  shmem_barrier_all();
  shmem_free((void*)memory);
}

// A token goes round; who waits for it only loads.
static void spin(void) {
  volatile long* const token = (volatile long*)allocate(sizeof(long));
  for (long turn = 1; turn <= kTurns; ++turn) {
    long loads = 0;
    if (world_rank > 0)
      while (*token < turn) ++loads;
    fold((uint64_t)loads);
    if (turn % 2 == 0) say("turn %ld after %ld loads", turn, loads);
    jitter(200);
    shmem_long_p((long*)token, turn, right());
    shmem_quiet();
    if (world_rank == 0)
      while (*token < turn) ++loads;
    fold((uint64_t)loads);
  }
  give_up(token);
}

// Work stealing as in the paper's Listing 1: who wants work asks by a compare-and-swap, and loads until it is told where the work is.
enum { kNone = -1, kWaiting = -2, kDenied = -3, kCapacity = 4096 };
typedef struct {
  volatile long stolen_work_addr;
  volatile long stolen_work_amt;
  volatile long req_thread;
  long open;  // at PE 0: nodes that are not done
  long stack[kCapacity];
} StealStack;

static int children_of(long node) {
  const uint64_t hash = (uint64_t)node * 0x9e3779b97f4a7c15u;
  const long depth = node & 31;
  return depth >= 11 ? 0 : depth < 4 ? 2 : (int)((hash >> 40) % 3);
}

static void answer(StealStack* own, long* local, long* top) {
  const int requestor = (int)own->req_thread;
  if (requestor < 0) return;
  const long amount = (*top - *local) / 2;
  const long position = amount == 0 ? (long)kDenied : *local;
  *local += amount;
  shmem_long_p((long*)&own->stolen_work_amt, amount, requestor);
  own->req_thread = kNone;
  shmem_fence();
  shmem_long_p((long*)&own->stolen_work_addr, position, requestor);
  shmem_quiet();
  fold((uint64_t)(requestor * 1000 + amount));
  say("gave %ld to %d", amount, requestor);
}

static void steal(void) {
  StealStack* const own = (StealStack*)allocate(sizeof(StealStack));
  long local = 0, top = 0, done = 0, loads = 0, thefts = 0;
  own->req_thread = kNone;
  own->open = 1;
  if (world_rank == 0) own->stack[top++] = 1 << 5;
  shmem_barrier_all();
  for (;;) {
    while (top > local) {
      const long node = own->stack[--top];
      const int children = children_of(node);
      for (int i = 0; i < children && top < kCapacity; ++i) own->stack[top++] = ((node >> 5) * 3 + i + 1) << 5 | ((node & 31) + 1);
      ++done;
      fold((uint64_t)node);
      shmem_long_atomic_add(&own->open, children - 1, 0);
      shmem_quiet();
      answer(own, &local, &top);
      jitter(60);
    }
    local = top = 0;
    answer(own, &local, &top);
    if (shmem_long_atomic_fetch(&own->open, 0) <= 0) break;
    const int victim = (world_rank + 1 + (int)(thefts++ % (world_size - 1))) % world_size;
    own->stolen_work_addr = kWaiting;
    if (shmem_long_atomic_compare_swap((long*)&own->req_thread, kNone, world_rank, victim) != kNone) continue;
    while (own->stolen_work_addr == kWaiting) {
      ++loads;
      answer(own, &local, &top);
    }
    if (own->stolen_work_addr < 0) continue;
    top = own->stolen_work_amt;
    shmem_long_get(own->stack, own->stack + own->stolen_work_addr, (size_t)top, victim);
    say("stole %ld from %d after %ld loads", top, victim, loads);
    fold((uint64_t)(top * 100 + victim));
  }
  // Others may still wait for an answer.
  shmem_long_atomic_add(&own->open, -1, 0);
  while (shmem_long_atomic_fetch(&own->open, 0) > -world_size) answer(own, &local, &top);
  say("%ld nodes, %ld loads", done, loads);
  give_up(own);
}

// Others put into what a PE adds up, and it stores there itself.
static void race(void) {
  long* const slots = (long*)shmem_calloc(kSlots, sizeof(long));
  long* const grown = (long*)allocate(8 * sizeof(long));
  for (int round = 0; round < kRounds; ++round) {
    const long values[2] = {round * 10 + world_rank, round};
    shmem_long_put(&slots[round * 5 % (kSlots - 1)], values, 2, (world_rank + 1 + round) % world_size);
    shmem_long_atomic_add(&grown[round % 8], 1, right());
    long sum = 0;
    for (int i = 0; i < kSlots; ++i) sum += *(volatile long*)&slots[i];
    slots[round % kSlots] = -sum % 1000;
    fold((uint64_t)sum);
    fold((uint64_t) * (volatile long*)&grown[round % 8]);
    if (round % 10 == 0) say("sum %ld, %ld", sum, *(volatile long*)&grown[0]);
    jitter(50);
  }
  shmem_barrier_all();
  say("at the end %ld", grown[3]);
  long* const larger = (long*)shmem_realloc(grown, 16 * sizeof(long));
  say("kept %ld", larger[3]);
  shmem_barrier_all();
  shmem_free(larger);
  shmem_free(slots);
}

// Counters that others add to, and the PE itself, which also looks at them by loads.
static void atomics(void) {
  typedef struct {
    volatile long total;
    unsigned long flags;
    int turns;
  } Counters;
  Counters* const own = (Counters*)allocate(sizeof(Counters));
  for (int round = 0; round < kRounds; ++round) {
    const int target = (world_rank + round) % world_size;
    const long before = shmem_long_atomic_fetch_add((long*)&own->total, round, target);
    shmem_ulong_atomic_xor(&own->flags, 1ul << (round % 60), target);
    const unsigned long flags = __atomic_fetch_or(&own->flags, 2, __ATOMIC_SEQ_CST);
    const int turns = __atomic_add_fetch(&own->turns, 1, __ATOMIC_RELAXED);
    fold((uint64_t)before);
    fold(flags + (uint64_t)turns);
    fold((uint64_t)own->total);
    if (round % 10 == 0) say("total %ld, flags %lx", own->total, flags);
    jitter(50);
  }
  give_up(own);
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
    shmem_putmem(&blocks[round % 8], &mine, sizeof mine, right());
    memcpy(&seen, &blocks[round * 3 % 8], sizeof seen);
    for (int i = 0; i < kBlock; ++i) fold((uint64_t)seen.words[i]);
    seen = blocks[(round + 1) % 8];
    for (int i = 0; i < kBlock; ++i) fold((uint64_t)seen.words[i]);
    if (round % 7 == 0) memset(&blocks[round % 8], round, sizeof(Block) / 2);
    if (round % 11 == 0) memmove(&blocks[1], &blocks[2], sizeof(Block));
    if (round % 10 == 0) say("%ld and %ld", seen.words[0], seen.words[kBlock - 1]);
    jitter(100);
  }
  give_up(blocks);
}

// Loops that compilers make vectors of.
static void vectors(void) {
  enum { kLength = 1024 };
  double* const all = (double*)allocate(kLength * sizeof(double));
  static double copy[kLength];
  for (int round = 0; round < kRounds; ++round) {
    double mine[16];
    for (int i = 0; i < 16; ++i) mine[i] = round + world_rank * 0.5;
    shmem_double_put(&all[round * 37 % (kLength - 16)], mine, 16, right());
    double sum = 0;
    for (int i = 0; i < kLength; ++i) copy[i] = all[i] * 2 + 1;
    for (int i = 0; i < kLength; ++i) sum += copy[i];
    for (int i = 0; i < kLength / 2; ++i) all[i] = all[i] * 0.5;
    fold((uint64_t)(long)(sum * 16));
    if (round % 10 == 0) say("sum %.4f", sum);
  }
  give_up(all);
}

// Collectives write to symmetric memory, too, and so does code that has no hooks.
static void together(void) {
  static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
  static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  long* const numbers = (long*)shmem_malloc(4 * sizeof(long));
  char* const text = (char*)shmem_malloc(64);
  for (int i = 0; i < SHMEM_REDUCE_SYNC_SIZE; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) numbers[i] = world_rank * 10 + i + round;
    shmem_long_sum_to_all(numbers, numbers, 4, 0, 0, world_size, work, sync_words);
    fold((uint64_t)(numbers[0] + numbers[3]));
    snprintf(text, 64, "PE %d in round %d", world_rank, round);
    shmem_barrier_all();
    char got[64];
    shmem_getmem(got, text, sizeof got, right());
    say("%s; sum %ld", got, numbers[1]);
    shmem_barrier_all();
  }
  shmem_free(text);
  shmem_free(numbers);
}

static const struct kind all_kinds[] = {{"spin", spin},       {"steal", steal},   {"race", race},        {"atomics", atomics},
                                        {"copies", copies}, {"vectors", vectors}, {"together", together}};

int main(int argc, char** argv) {
  shmem_init();
  open_pe(argc, argv);
  run_kinds(argc, argv, all_kinds, sizeof all_kinds / sizeof *all_kinds, tell_digest);
  shmem_finalize();
  say("done");
}
