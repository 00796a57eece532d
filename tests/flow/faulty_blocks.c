// Memory as MPI sees it: what is in it, what it spans, how it is scattered.
#include "faulty.h"

int bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  if (count > 0) real.Type_size(type, &size);
  return size * (count > 0 ? count : 0);
}

struct block block_of(const void* at, int count, MPI_Datatype type) {
  return (struct block){.at = (char*)(uintptr_t)at, .count = count, .type = type, .bytes = bytes_of(count, type)};
}

// The same memory from an address on: MPICH 4.0 does not pack from MPI_BOTTOM.
static struct block from_address(const struct block* block) {
  struct block same = *block;
  if (same.at || same.bytes == 0) return same;
  char* end;
  span_of(block, &same.at, &end);
  MPI_Aint back = -(MPI_Aint)same.at;
  real.Type_create_hindexed(1, &block->count, &back, block->type, &same.type);
  real.Type_commit(&same.type);
  same.count = 1;
  same.owns_type = true;
  return same;
}

char* packed(const struct block* block) {
  int room = 0, position = 0;
  if (block->bytes > 0) real.Pack_size(block->count, block->type, MPI_COMM_SELF, &room);
  char* bytes = calloc((size_t)room + 1, 1);
  if (block->bytes == 0) return bytes;
  struct block same = from_address(block);
  real.Pack(same.at, same.count, same.type, bytes, room, &position, MPI_COMM_SELF);
  if (!block->at) release_type(&same);
  return bytes;
}

void unpacked(const struct block* block, const char* bytes) {
  int position = 0;
  if (block->bytes == 0) return;
  struct block same = from_address(block);
  real.Unpack(bytes, block->bytes, &position, same.at, same.count, same.type, MPI_COMM_SELF);
  if (!block->at) release_type(&same);
}

void span_of(const struct block* block, char** begin, char** end) {
  MPI_Aint lower, extent, true_lower, true_extent;
  real.Type_get_extent(block->type, &lower, &extent);
  real.Type_get_true_extent(block->type, &true_lower, &true_extent);
  const MPI_Aint last = (block->count - 1) * extent;
  *begin = block->at + true_lower + (last < 0 ? last : 0);
  *end = block->at + true_lower + true_extent + (last > 0 ? last : 0);
}

bool is_named(MPI_Datatype type) {
  int integers, addresses, types, combiner;
  real.Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

// A program may free a type while an operation with it is under way.
void keep_type(struct block* block) {
  if (block->owns_type || block->count == 0 || is_named(block->type)) return;
  real.Type_dup(block->type, &block->type);
  block->owns_type = true;
}
void release_type(struct block* block) {
  if (block->owns_type) real.Type_free(&block->type);
  block->owns_type = false;
}

// Where every packed byte of one element is: unpacks its own position to every byte.
static int* offsets_of(MPI_Datatype type, int size) {
  MPI_Aint lower, extent;
  real.Type_get_true_extent(type, &lower, &extent);
  if (extent <= 0 || extent > 1 << 22 || size > 1 << 22) return NULL;
  int* offsets = calloc((size_t)size, sizeof *offsets);
  unsigned* position = calloc((size_t)extent, sizeof *position);
  char* planes = calloc((size_t)extent, 1);
  char* bytes = malloc((size_t)size);
  struct block one = block_of((char*)((uintptr_t)planes - (uintptr_t)lower), 1, type);
  for (int plane = 0; plane < 4; ++plane) {
    for (int i = 0; i < size; ++i) bytes[i] = (char)((unsigned)(i + 1) >> (8 * plane));
    unpacked(&one, bytes);
    for (MPI_Aint m = 0; m < extent; ++m) position[m] |= (unsigned)(unsigned char)planes[m] << (8 * plane);
  }
  for (MPI_Aint m = 0; m < extent; ++m)
    if (position[m] > 0 && position[m] <= (unsigned)size) offsets[position[m] - 1] = (int)m;
  free(position), free(planes), free(bytes);
  return offsets;
}

int runs_of(const struct block* block, struct run** runs) {
  *runs = NULL;
  if (block->bytes == 0) return 0;
  if (is_named(block->type)) {
    *runs = malloc(sizeof **runs);
    (*runs)[0] = (struct run){0, block->bytes};
    return 1;
  }
  const int size = block->bytes / block->count;
  int* offsets = offsets_of(block->type, size);
  if (!offsets) return 0;
  MPI_Aint lower, extent;
  real.Type_get_extent(block->type, &lower, &extent);
  *runs = malloc((size_t)block->bytes * sizeof **runs);
  int number = 0;
  MPI_Aint before = 0;
  for (int i = 0; i < block->bytes; ++i) {
    const MPI_Aint here = i / size * extent + offsets[i % size];
    if (i == 0 || here != before + 1) (*runs)[number++] = (struct run){i, 0};
    ++(*runs)[number - 1].length;
    before = here;
  }
  free(offsets);
  return number;
}
