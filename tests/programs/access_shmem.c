// OpenSHMEM programs that see what others put by loading it, without any call in between.
#include "shmem_common.h"

enum { kTurns = 12, kRounds = 60, kSlots = 64 };

// A token goes round; who waits for it only loads.
static void spin(void) {
  volatile long* const token = shmem_malloc(sizeof *token);
  for (long turn = 1; turn <= kTurns; ++turn) {
    long loads = 0;
    if (world_rank > 0)
      while (*token < turn) ++loads;
    fold((uint64_t)loads);
    if (turn % 4 == 0) say("turn %ld after %ld loads", turn, loads);
    jitter(200);
    shmem_long_p((long*)token, turn, right());
    shmem_quiet();
    if (world_rank == 0)
      while (*token < turn) ++loads;
    fold((uint64_t)loads);
  }
  shmem_barrier_all();
  shmem_free((void*)token);
}

// Others put into what a PE adds up, and it stores there itself.
static void race(void) {
  long* const slots = shmem_calloc(kSlots, sizeof *slots);
  long* const grown = shmem_malloc(8 * sizeof *grown);
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
  long* const larger = shmem_realloc(grown, 16 * sizeof *grown);
  say("kept %ld, new %ld", larger[3], larger[12]);
  shmem_barrier_all();
  shmem_free(larger);
  shmem_free(slots);
}

// Collectives write to symmetric memory, too, and so does code that has no hooks.
static void together(void) {
  static long sync_words[SHMEM_REDUCE_SYNC_SIZE];
  static long work[SHMEM_REDUCE_MIN_WRKDATA_SIZE];
  long* const numbers = shmem_malloc(4 * sizeof *numbers);
  char* const text = shmem_malloc(64);
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

int main(int argc, char** argv) {
  shmem_init();
  open_pe(argc, argv);
  spin();
  race();
  together();
  finish_pe();
}
