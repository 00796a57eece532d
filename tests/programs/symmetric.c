// OpenSHMEM, family by family: what a PE reads is decided by who came first. A word chooses one part.
#include <complex.h>

#include "shmem_common.h"

enum { kSlots = 32, kRounds = 5 };

static long counter;  // of PE 0: tickets
static long slots[kSlots];
static long flags[kSlots];
static long sync_words[SHMEM_COLLECT_SYNC_SIZE + SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE];
static long lock_word;

static long ticket(void) {
  jitter(200);
  return shmem_long_atomic_fetch_inc(&counter, 0) * 10 + world_rank;
}

static void show(const char* what, const long* memory, int count) {
  show_bytes(what, memory, (size_t)count * sizeof *memory);
  say("%s: %ld %ld %ld", what, memory[0], memory[1 % count], memory[count - 1]);
}

// One function of each kind for one type. What is sent depends on the order of tickets.
#define TYPED(NAME, TYPE)                                             \
  static void moves_##NAME(void) {                                    \
    static TYPE there[8], back[8];                                    \
    TYPE out[4], got[4] = {0}, one;                                   \
    const long mine = ticket() % 100;                                 \
    for (int i = 0; i < 4; ++i) out[i] = (TYPE)(mine + i);            \
    shmem_##NAME##_p(&there[0], out[0], right());                     \
    shmem_##NAME##_put(&there[1], out, 2, right());                   \
    shmem_##NAME##_put_nbi(&there[3], out, 1, right());               \
    shmem_##NAME##_iput(&there[4], out, 2, 1, 2, right());            \
    shmem_barrier_all();                                              \
    one = shmem_##NAME##_g(&there[0], left());                        \
    shmem_##NAME##_get(got, &there[1], 2, left());                    \
    shmem_##NAME##_iget(got + 2, &there[4], 1, 2, 2, left());         \
    shmem_##NAME##_get_nbi(back, there, 4, left());                   \
    shmem_quiet();                                                    \
    show_bytes(#NAME, there, sizeof there);                           \
    show_bytes(#NAME " got", got, sizeof got);                        \
    show_bytes(#NAME " back", back, sizeof back);                     \
    show_bytes(#NAME " one", &one, sizeof one);                       \
    shmem_barrier_all();                                              \
  }
TYPED(char, char)
TYPED(schar, signed char)
TYPED(short, short)
TYPED(int, int)
TYPED(long, long)
TYPED(longlong, long long)
TYPED(uchar, unsigned char)
TYPED(ushort, unsigned short)
TYPED(uint, unsigned int)
TYPED(ulong, unsigned long)
TYPED(ulonglong, unsigned long long)
TYPED(float, float)
TYPED(double, double)
TYPED(int8, int8_t)
TYPED(int16, int16_t)
TYPED(int32, int32_t)
TYPED(int64, int64_t)
TYPED(uint8, uint8_t)
TYPED(uint16, uint16_t)
TYPED(uint32, uint32_t)
TYPED(uint64, uint64_t)
TYPED(size, size_t)
TYPED(ptrdiff, ptrdiff_t)

static void types(void) {
  moves_char(), moves_schar(), moves_short(), moves_int(), moves_long(), moves_longlong(), moves_uchar(), moves_ushort();
  moves_uint(), moves_ulong(), moves_ulonglong(), moves_float(), moves_double(), moves_int8(), moves_int16(), moves_int32();
  moves_int64(), moves_uint8(), moves_uint16(), moves_uint32(), moves_uint64(), moves_size(), moves_ptrdiff();
}

// The same by the number of bits, in the symmetric heap.
#define SIZED(BITS)                                                   \
  do {                                                                \
    char out[64], got[64] = {0};                                      \
    memset(out, (int)ticket(), sizeof out);                           \
    shmem_put##BITS(there, out, 1, right());                          \
    shmem_put##BITS##_nbi(there + 16, out, 1, right());               \
    shmem_iput##BITS(there + 64, out, 2, 1, 2, right());              \
    shmem_barrier_all();                                              \
    shmem_get##BITS(got, there, 1, left());                           \
    shmem_get##BITS##_nbi(got + 16, there + 16, 1, left());           \
    shmem_iget##BITS(got + 32, there + 64, 1, 2, 2, left());          \
    shmem_quiet();                                                    \
    show_bytes("bits " #BITS, there, 160);                            \
    show_bytes("got " #BITS, got, sizeof got);                        \
    shmem_barrier_all();                                              \
  } while (0)

static void sizes(void) {
  char* const there = shmem_malloc(256);
  show_bytes("new", there, 256);
  shmem_barrier_all();
  SIZED(8);
  SIZED(16);
  SIZED(32);
  SIZED(64);
  SIZED(128);
  char out[40], got[40] = {0};
  memset(out, (int)ticket(), sizeof out);
  shmem_putmem(there + 200, out, 20, right());
  shmem_putmem_nbi(there + 220, out, 20, right());
  shmem_barrier_all();
  shmem_getmem(got, there + 200, 20, left());
  shmem_getmem_nbi(got + 20, there + 220, 20, left());
  shmem_quiet();
  show_bytes("bytes", there, 256);
  show_bytes("got bytes", got, sizeof got);
  shmem_barrier_all();
  shmem_free(there);
}

#define ATOMIC(NAME, TYPE)                                                                     \
  do {                                                                                         \
    static TYPE word, bits;                                                                    \
    for (int to = 0; to < world_size; ++to) {                                                  \
      jitter(60);                                                                              \
      say(#NAME " inc %ld", (long)shmem_##NAME##_atomic_fetch_inc(&word, to));                 \
      say(#NAME " add %ld", (long)shmem_##NAME##_atomic_fetch_add(&word, (TYPE)world_rank, to)); \
      shmem_##NAME##_atomic_inc(&word, to);                                                    \
      shmem_##NAME##_atomic_add(&word, (TYPE)2, to);                                           \
      say(#NAME " swap %ld", (long)shmem_##NAME##_atomic_swap(&bits, (TYPE)(world_rank + 1), to)); \
      if (sizeof(TYPE) == 8) /* the one with 32 bits spoils the stack in Open MPI 4.1.4: docs/library-bugs.md */ \
        say(#NAME " cswap %ld", (long)shmem_##NAME##_atomic_compare_swap(&bits, (TYPE)(world_rank + 1), (TYPE)7, to)); \
      shmem_##NAME##_atomic_set(&bits, (TYPE)(world_rank + 3), to);                            \
      say(#NAME " fetch %ld", (long)shmem_##NAME##_atomic_fetch(&word, to));                   \
    }                                                                                          \
    shmem_barrier_all();                                                                       \
    say(#NAME " own %ld %ld", (long)word, (long)bits);                                         \
    shmem_barrier_all();                                                                       \
  } while (0)

#define BITWISE(NAME, TYPE)                                                                    \
  do {                                                                                         \
    static TYPE word;                                                                          \
    for (int to = 0; to < world_size; ++to) {                                                  \
      const TYPE mine = (TYPE)1 << world_rank;                                                 \
      jitter(60);                                                                              \
      say(#NAME " or %lx", (unsigned long)shmem_##NAME##_atomic_fetch_or(&word, mine, to));    \
      say(#NAME " xor %lx", (unsigned long)shmem_##NAME##_atomic_fetch_xor(&word, mine << 8, to)); \
      say(#NAME " and %lx", (unsigned long)shmem_##NAME##_atomic_fetch_and(&word, (TYPE)~mine, to)); \
      shmem_##NAME##_atomic_or(&word, mine << 4, to);                                          \
      shmem_##NAME##_atomic_xor(&word, mine, to);                                              \
      shmem_##NAME##_atomic_and(&word, (TYPE)~(mine << 12), to);                               \
    }                                                                                          \
    shmem_barrier_all();                                                                       \
    say(#NAME " own %lx", (unsigned long)word);                                                \
    shmem_barrier_all();                                                                       \
  } while (0)

static void atomics(void) {
  ATOMIC(int, int);
  ATOMIC(long, long);
  ATOMIC(longlong, long long);
  ATOMIC(uint, unsigned int);
  ATOMIC(ulong, unsigned long);
  ATOMIC(ulonglong, unsigned long long);
  BITWISE(uint, unsigned int);
  BITWISE(ulong, unsigned long);
  BITWISE(ulonglong, unsigned long long);
  BITWISE(int32, int32_t);
  BITWISE(int64, int64_t);
  BITWISE(uint32, uint32_t);
  BITWISE(uint64, uint64_t);
  static double real;
  say("double swap %g", shmem_double_atomic_swap(&real, world_rank + 0.5, 0));
  shmem_double_atomic_set(&real, (double)ticket(), right());
  say("double fetch %d", shmem_double_atomic_fetch(&real, right()) >= 0);
  shmem_barrier_all();
  say("double own %g", real);
}

// A flag says that data is there. Who comes first in a slot decides what is in it.
static void waits(void) {
  for (int round = 1; round <= kRounds; ++round) {
    long mine[2] = {ticket(), round};
    shmem_long_put(&slots[2 * world_rank], mine, 2, right());
    shmem_fence();
    shmem_long_p(&flags[0], round, right());
    shmem_quiet();  // shmem_test makes no progress in Open MPI 4.1.4, neither for itself nor for others
    if (round % 2) shmem_long_wait_until(&flags[0], SHMEM_CMP_GE, round);
    else
      while (!shmem_long_test(&flags[0], SHMEM_CMP_GE, round)) fold((uint64_t)shmem_long_g(&flags[5], left()));
    show("waited", &slots[2 * left()], 2);
    shmem_long_p(&flags[1], round, left());  // it may go on
    shmem_long_wait_until(&flags[1], SHMEM_CMP_EQ, round);
  }
  for (int to = 0; to < world_size; ++to) {  // an inbox
    const long place = shmem_long_atomic_fetch_inc(&flags[2], to);
    jitter(50);
    shmem_long_p(&slots[8 + place], world_rank + 1, to);
    shmem_quiet();
    shmem_long_atomic_inc(&flags[3], to);
  }
  shmem_long_wait_until(&flags[3], SHMEM_CMP_EQ, world_size);
  show("inbox", &slots[8], world_size);
  shmem_barrier_all();
}

static void locks(void) {
  for (int round = 0; round < kRounds; ++round) {
    long seen[3];
    int held = round % 2;
    jitter(100);
    if (held) shmem_set_lock(&lock_word);
    for (int tries = 0; tries < 5 && !held; ++tries) {
      held = !shmem_test_lock(&lock_word);
      say("tried: %d", held);
    }
    if (!held) continue;  // Open MPI 4.1.4 may hang where several PEs go on and on trying
    shmem_long_get(seen, slots, 3, 0);
    show("under the lock", seen, 3);
    seen[0] += 1, seen[1] = world_rank, seen[2] = seen[2] * 3 + world_rank;
    shmem_long_put(slots, seen, 3, 0);
    shmem_clear_lock(&lock_word);
  }
  shmem_barrier_all();
  show("after all", slots, 3);
}

static void reset_sync(void) {
  for (size_t i = 0; i < sizeof sync_words / sizeof *sync_words; ++i) sync_words[i] = SHMEM_SYNC_VALUE;
  shmem_barrier_all();
}

#define REDUCED(NAME, TYPE, OP)                                                      \
  do {                                                                               \
    static TYPE in[3], out[3], work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + 3];              \
    in[0] = (TYPE)(ticket() % 50 + 1), in[1] = (TYPE)world_rank, in[2] = (TYPE)2;    \
    shmem_##NAME##_##OP##_to_all(out, in, 3, 0, 0, world_size, work, sync_words);    \
    show_bytes(#NAME " " #OP, out, sizeof out);                                      \
    shmem_barrier_all();                                                             \
  } while (0)
#define REDUCED_ARITHMETIC(NAME, TYPE) \
  REDUCED(NAME, TYPE, sum);            \
  REDUCED(NAME, TYPE, prod);           \
  REDUCED(NAME, TYPE, min);            \
  REDUCED(NAME, TYPE, max)
#define REDUCED_ALL(NAME, TYPE)     \
  REDUCED_ARITHMETIC(NAME, TYPE);   \
  REDUCED(NAME, TYPE, and);         \
  REDUCED(NAME, TYPE, or);          \
  REDUCED(NAME, TYPE, xor)

static void collectives(void) {
  reset_sync();
  REDUCED_ALL(short, short);
  REDUCED_ALL(int, int);
  REDUCED_ALL(long, long);
  REDUCED_ALL(longlong, long long);
  REDUCED_ARITHMETIC(float, float);
  REDUCED_ARITHMETIC(double, double);
  static double complex in, out, work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  in = (double)ticket() + 1.0 * I;
  shmem_complexd_sum_to_all(&out, &in, 1, 0, 0, world_size, work, sync_words);
  show_bytes("complex sum", &out, sizeof out);
  shmem_barrier_all();
  static long source[kSlots];
  for (int i = 0; i < kSlots; ++i) source[i] = i % 4 ? i : ticket();
  memset(slots, 0, sizeof slots);
  shmem_barrier_all();
  shmem_broadcast64(slots, source, 5, 1, 0, 0, world_size, sync_words);
  show("broadcast64", slots, kSlots);
  shmem_barrier_all();
  shmem_broadcast32(slots, source, 5, 0, 0, 1, world_size / 2, sync_words);
  show("broadcast32", slots, kSlots);
  shmem_barrier_all();
  shmem_fcollect64(slots, source, 3, 0, 0, world_size, sync_words);
  show("fcollect64", slots, kSlots);
  shmem_barrier_all();
  shmem_fcollect32(slots, source, 3, 0, 0, world_size, sync_words);
  show("fcollect32", slots, kSlots);
  shmem_barrier_all();
  shmem_collect64(slots, source, (size_t)world_rank + 1, 0, 0, world_size, sync_words);
  show("collect64", slots, kSlots);
  shmem_barrier_all();
  shmem_collect32(slots, source, (size_t)world_rank + 1, 0, 0, world_size, sync_words);
  show("collect32", slots, kSlots);
  shmem_barrier_all();
  shmem_alltoall64(slots, source, 2, 0, 0, world_size, sync_words);
  show("alltoall64", slots, kSlots);
  shmem_barrier_all();
  shmem_alltoall32(slots, source, 2, 0, 0, world_size, sync_words);
  show("alltoall32", slots, kSlots);
  shmem_barrier_all();
  shmem_alltoalls64(slots, source, 2, 1, 2, 0, 0, world_size, sync_words);
  show("alltoalls64", slots, kSlots);
  shmem_barrier_all();
  shmem_alltoalls32(slots, source, 2, 1, 2, 0, 0, world_size, sync_words);
  show("alltoalls32", slots, kSlots);
  shmem_sync_all();
  if (world_rank % 2 == 0) shmem_sync(0, 1, (world_size + 1) / 2, sync_words);
  shmem_barrier_all();
  if (world_rank % 2 == 0) shmem_barrier(0, 1, (world_size + 1) / 2, sync_words);
  shmem_barrier_all();
}

static void contexts(void) {
  shmem_ctx_t first, second;
  say("made %d %d", shmem_ctx_create(0, &first), shmem_ctx_create(SHMEM_CTX_SERIALIZED, &second));
  for (int round = 0; round < kRounds; ++round) {
    long mine = ticket(), got[2] = {0}, later[2] = {0};
    shmem_ctx_long_p(first, &slots[0], mine, right());
    shmem_ctx_long_put(second, &slots[1], &mine, 1, left());
    shmem_ctx_long_put(SHMEM_CTX_DEFAULT, &slots[2], &mine, 1, left());
    shmem_ctx_fence(first);
    shmem_ctx_quiet(first);
    shmem_ctx_quiet(second);
    shmem_quiet();
    shmem_barrier_all();
    shmem_ctx_long_get(first, got, slots, 2, right());
    shmem_ctx_long_get_nbi(second, later, &slots[1], 2, right());
    shmem_ctx_quiet(second);
    say("added %d", shmem_ctx_long_atomic_fetch_add(first, &slots[4], mine, 0) >= 0);
    shmem_ctx_quiet(first);
    show("context", slots, 3);
    show("context got", got, 2);
    show("context later", later, 2);
    shmem_barrier_all();
  }
  shmem_ctx_destroy(first);
  shmem_ctx_destroy(second);
}

// Objects come and go; addresses travel as values, since they are the same everywhere.
static void memory(void) {
  for (int round = 0; round < kRounds; ++round) {
    long* const one = shmem_malloc(64 * sizeof(long));
    long* const two = shmem_calloc(16, sizeof(long));
    char* const three = shmem_align(256, 100);
    show("malloc", one, 64);
    show("calloc", two, 16);
    show_bytes("align", three, 100);
    say("aligned %d", (int)((uintptr_t)three % 256));
    shmem_barrier_all();
    const long mine = ticket();
    for (int to = 0; to < world_size; ++to) shmem_long_p(&one[world_rank], mine, to);
    shmem_long_p(&two[0], (long)(uintptr_t)&one[ticket() % world_size], right());
    shmem_barrier_all();
    show("written", one, 64);
    say("there %ld", *(long*)(uintptr_t)two[0]);
    shmem_barrier_all();
    long* const larger = shmem_realloc(one, 128 * sizeof(long));
    show("larger", larger, 128);
    shmem_barrier_all();
    shmem_long_p(&larger[100], mine, right());
    shmem_barrier_all();
    show("written again", larger, 128);
    shmem_barrier_all();
    shmem_free(larger);
    shmem_free(two);
    shmem_free(three);
  }
  say("accessible %d %d", shmem_pe_accessible(right()), shmem_addr_accessible(slots, right()));
}

// To itself, and read at once.
static void own(void) {
  for (int round = 0; round < kRounds; ++round) {
    const long mine = ticket();
    shmem_long_p(&slots[0], mine, world_rank);
    shmem_quiet();
    say("own %ld", slots[0]);
    say("own before %ld", shmem_long_atomic_fetch_add(&slots[0], 5, world_rank));
    say("own after %ld", slots[0]);
    slots[1] = mine;  // a plain store, between others' stores to the same block
    shmem_long_p(&slots[2], mine, right());
    shmem_barrier_all();
    show("own block", slots, 4);
    shmem_barrier_all();
  }
}

// Another PE's memory, by loads and stores.
static void pointer(void) {
  long* const there = shmem_ptr(slots, right());
  long* const heap = shmem_malloc(sizeof(long));
  long* const far = shmem_ptr(heap, right());
  say("pointers %d %d", there != NULL, far != NULL);
  if (far) *far = ticket();
  shmem_barrier_all();
  show("stored", heap, 1);
}

int main(int argc, char** argv) {
  const char* const part = argc > 2 ? argv[2] : "waits";
  int provided = -1;
  if (strcmp(part, "mixed") == 0) MPI_Init(&argc, &argv);
  if (strcmp(part, "contexts") == 0) shmem_init_thread(SHMEM_THREAD_SINGLE, &provided);
  else if (strcmp(part, "unfinished") == 0) start_pes(0);
  else shmem_init();
  open_pe(argc, argv);
  if (strcmp(part, "types") == 0) types();
  if (strcmp(part, "sizes") == 0) sizes();
  if (strcmp(part, "atomics") == 0) atomics();
  if (strcmp(part, "waits") == 0) waits();
  if (strcmp(part, "locks") == 0) locks();
  if (strcmp(part, "collectives") == 0) collectives();
  if (strcmp(part, "contexts") == 0) contexts();
  if (strcmp(part, "memory") == 0) memory();
  if (strcmp(part, "own") == 0) own();
  if (strcmp(part, "pointer") == 0) pointer();
  if (strcmp(part, "mixed") == 0) {
    waits();
    hear_everybody(100);
    shmem_long_p(&slots[20], ticket(), right());
    shmem_quiet();
    MPI_Barrier(MPI_COMM_WORLD);
    show("after MPI's barrier", &slots[20], 1);
  }
  if (strcmp(part, "unfinished") == 0) {
    own();
    return 0;  // without shmem_finalize
  }
  finish_pe();  // Open MPI ends its MPI with it
  return 0;
}
