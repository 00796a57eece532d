// What the test programs with OpenSHMEM share; see common.h.
#ifndef TESTS_PROGRAMS_SHMEM_COMMON_H
#define TESTS_PROGRAMS_SHMEM_COMMON_H

#include "common.h"

#include <shmem.h>

static UNUSED int right(void) { return (world_rank + 1) % world_size; }
static UNUSED int left(void) { return (world_rank + world_size - 1) % world_size; }

// After shmem_init, or shmem_init_thread.
static UNUSED void open_pe(int argc, char** argv) {
  world_rank = shmem_my_pe();
  world_size = shmem_n_pes();
  if (argc > 1) out_dir = argv[1];
  out_fd = out_file("out", ".txt", O_WRONLY | O_APPEND);
}

static UNUSED void tell_digest(void) { say("I saw %016llx", (unsigned long long)digest); }

static UNUSED void finish_pe(void) {
  tell_digest();
  shmem_finalize();
  say("done");
}

static UNUSED void show_bytes(const char* what, const void* memory, size_t size) {
  uint64_t sum = EMPTY_DIGEST;
  for (size_t i = 0; i < size; ++i) sum = (sum ^ ((const unsigned char*)memory)[i]) * 1099511628211u;
  fold(sum);
  say("%s: %016llx", what, (unsigned long long)sum);
}

#endif
