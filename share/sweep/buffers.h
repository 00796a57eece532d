// Memory handed to MPI, filled with data, and with a pattern in all places that must not change.
#ifndef SWEEP_BUFFERS_H
#define SWEEP_BUFFERS_H

#include "types.h"

enum { kGuard = 64 };
#define NOTHING ((uint64_t)0)    // the pattern stays
#define ANYTHING (~(uint64_t)0)  // the standard does not say what is there after the call

struct block {
  ptrdiff_t at;  // from the address that is given to MPI
  long count;
  const struct type* type;
  uint64_t before, after;  // names of the contents
  size_t arrives;          // how many bytes of `after`
  int number;              // in reports
};

struct buffer {
  const char* name;
  unsigned char* memory;
  unsigned char* expected;
  size_t size;
  unsigned char* address;  // for MPI
  struct block* blocks;
  int count, room;
  bool aligned;  // to 64 bytes
};

struct block* add_block(struct buffer* b, ptrdiff_t at, long count, const struct type* type, uint64_t before,
                        uint64_t after);
// Allocates what the blocks need, and guards. `memory`, if not NULL, is used instead: of buffer_size() bytes.
size_t buffer_size(const struct buffer* b, ptrdiff_t* lowest);
void make_buffer(struct buffer* b, const char* name, void* memory);
void clear_buffer(struct buffer* b);
// The contents of the blocks for one start of the scenario.
void fill_buffer(const struct scenario* s, struct buffer* b, int start);
// Compares with the expected contents of the blocks; clear_buffer and fill_buffer came before.
bool check_buffer(const struct scenario* s, struct buffer* b, int start);
// Whether the data in a block is that with this name.
bool holds(const struct scenario* s, const struct buffer* b, const struct block* block, uint64_t contents, int start);
// Compares with `expected` as it is.
bool compare_buffer(const struct buffer* b, int start);
void data_bytes(uint64_t key, size_t length, unsigned char* out);

#endif
