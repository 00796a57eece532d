#include "buffers.h"

struct block* add_block(struct buffer* b, ptrdiff_t at, long count, const struct type* type, uint64_t before,
                        uint64_t after) {
  if (b->count == b->room) {
    struct block* more = KEEP(struct block, b->room = 2 * b->room + 4);
    if (b->count) memcpy(more, b->blocks, sizeof *more * (size_t)b->count);
    b->blocks = more;
  }
  b->blocks[b->count] = (struct block){at, count, type, before, after, SIZE_MAX, b->count};
  return &b->blocks[b->count++];
}

size_t buffer_size(const struct buffer* b, ptrdiff_t* lowest) {
  ptrdiff_t lowest_yet = 0, highest = 0;
  for (int i = 0; i < b->count; ++i) {
    ptrdiff_t low, high;
    const struct block* block = &b->blocks[i];
    type_span(block->type, block->count, &low, &high);
    if (block->at + low < lowest_yet) lowest_yet = block->at + low;
    if (block->at + high > highest) highest = block->at + high;
  }
  // The address is as well aligned as the memory.
  *lowest = -((-lowest_yet + 63) / 64 * 64);
  return (size_t)(highest - *lowest) + 2 * kGuard;
}

// Aligned for the types in it, but for no more.
static unsigned char* odd_memory(const struct buffer* b) {
  ptrdiff_t align = 1;
  for (int i = 0; i < b->count; ++i)
    if (b->blocks[i].type->align > align) align = b->blocks[i].type->align;
  unsigned char* memory = keep(b->size + 128);
  memory += (64 - (uintptr_t)memory % 64) % 64;
  if (b->aligned) return memory;
  return memory + align * (ptrdiff_t)(mix(options.seed, keep_count()) % (uint64_t)(64 / align));
}

void make_buffer(struct buffer* b, const char* name, void* memory) {
  ptrdiff_t lowest;
  b->name = name;
  b->size = buffer_size(b, &lowest);
  b->memory = memory ? memory : odd_memory(b);
  b->expected = keep(b->size);
  b->address = b->memory + kGuard - lowest;
  clear_buffer(b);
}

static unsigned char pattern_at(size_t i) { return (unsigned char)(0xa0 + i * 7 % 31); }

void clear_buffer(struct buffer* b) {
  for (size_t i = 0; i < b->size; ++i) b->memory[i] = pattern_at(i);
  memcpy(b->expected, b->memory, b->size);
}

void data_bytes(uint64_t key, size_t length, unsigned char* out) {
  for (size_t i = 0; i < length; i += 8) {
    uint64_t bits = scramble(key + i * 0x9e3779b97f4a7c15u);
    for (size_t k = i; k < i + 8 && k < length; ++k, bits >>= 8) {
      // No floating-point number that consists of such bytes is a NaN, in either byte order.
      const unsigned char byte = (unsigned char)bits;
      out[k] = (byte & 0x7f) == 0x7f ? byte ^ 1 : byte;
    }
  }
}

static void put_data(const struct scenario* s, unsigned char* address, const struct block* block, uint64_t contents,
                     size_t arrives, int start) {
  size_t bytes = (size_t)block->count * block->type->size;
  if (arrives < bytes) bytes = arrives;
  if (contents == NOTHING || contents == ANYTHING || bytes == 0) return;
  unsigned char* packed = malloc(bytes);
  data_bytes(mix(mix(s->key, (uint64_t)start), contents), bytes, packed);
  type_scatter(block->type, address + block->at, packed, bytes);
  free(packed);
}

void fill_buffer(const struct scenario* s, struct buffer* b, int start) {
  for (int i = 0; i < b->count; ++i)
    put_data(s, b->address, &b->blocks[i], b->blocks[i].before, SIZE_MAX, start);
}

// Bytes of the type map that may be anything count as expected.
static void accept_block(struct buffer* b, const struct block* block) {
  for (long item = 0; item < block->count; ++item) {
    for (int i = 0; i < block->type->pieces; ++i) {
      const struct piece* piece = &block->type->piece[i];
      const ptrdiff_t at = b->address - b->memory + block->at + item * block->type->extent + piece->at;
      memcpy(b->expected + at, b->memory + at, piece->length);
    }
  }
}

bool check_buffer(const struct scenario* s, struct buffer* b, int start) {
  for (size_t i = 0; i < b->size; ++i) b->expected[i] = pattern_at(i);
  unsigned char* expected = b->expected + (b->address - b->memory);
  for (int i = 0; i < b->count; ++i) {
    const struct block* block = &b->blocks[i];
    // What was there before stays behind a message that is shorter than the buffer.
    if (block->arrives != SIZE_MAX) put_data(s, expected, block, block->before, SIZE_MAX, start);
    put_data(s, expected, block, block->after, block->arrives, start);
    if (block->after == ANYTHING) accept_block(b, block);
  }
  return compare_buffer(b, start);
}

bool holds(const struct scenario* s, const struct buffer* b, const struct block* block, uint64_t contents, int start) {
  const size_t bytes = (size_t)block->count * block->type->size;
  unsigned char* packed = malloc(bytes + 1);
  data_bytes(mix(mix(s->key, (uint64_t)start), contents), bytes, packed);
  bool same = true;
  size_t done = 0;
  for (long item = 0; item < block->count && same; ++item) {
    for (int i = 0; i < block->type->pieces; ++i) {
      const struct piece* piece = &block->type->piece[i];
      same = same && !memcmp(b->address + block->at + item * block->type->extent + piece->at, packed + done, piece->length);
      done += piece->length;
    }
  }
  free(packed);
  return same;
}

bool compare_buffer(const struct buffer* b, int start) {
  if (memcmp(b->memory, b->expected, b->size) == 0) return true;
  size_t at = 0, bad = 0;
  for (size_t i = b->size; i-- > 0;)
    if (b->memory[i] != b->expected[i]) at = i, ++bad;
  const ptrdiff_t offset = b->memory + at - b->address;
  char where[160], when[40] = "";
  if (at < kGuard) snprintf(where, sizeof where, "byte %zu before the %s buffer", kGuard - at, b->name);
  else if (at >= b->size - kGuard) snprintf(where, sizeof where, "byte %zu behind the %s buffer", at - (b->size - kGuard), b->name);
  else snprintf(where, sizeof where, "byte %td of the %s buffer, which is in a hole", offset, b->name);
  for (int i = 0; i < b->count; ++i) {
    const struct block* block = &b->blocks[i];
    const long position = type_position(block->type, block->count, offset - block->at);
    if (position >= 0) snprintf(where, sizeof where, "byte %ld of block %d of the %s buffer", position, block->number, b->name);
  }
  if (start > 0) snprintf(when, sizeof when, "start %d: ", start + 1);
  wrong("%s%s: is 0x%02x, should be 0x%02x (%zu bytes differ)", when, where, b->memory[at], b->expected[at], bad);
  return false;
}
