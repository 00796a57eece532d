// Collectives with a block for every rank, and broadcasts; blocking and nonblocking.
#include "faulty.h"

int size_of(MPI_Comm comm) {
  int inter, size;
  real.Comm_test_inter(comm, &inter);
  if (inter) real.Comm_remote_size(comm, &size);
  else real.Comm_size(comm, &size);
  return size;
}
int rank_of(MPI_Comm comm) {
  int rank;
  real.Comm_rank(comm, &rank);
  return rank;
}
MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  real.Type_get_extent(type, &lower, &extent);
  return extent;
}

static bool is_inter(MPI_Comm comm) {
  int inter;
  real.Comm_test_inter(comm, &inter);
  return inter;
}
bool is_root(MPI_Comm comm, int root) { return is_inter(comm) ? root == MPI_ROOT : root == rank_of(comm); }
static bool hears_root(MPI_Comm comm, int root) { return is_inter(comm) ? root >= 0 : root != rank_of(comm); }

void drop_own(struct call call, const void* send, struct block block) {
  if (!(watch & BIT(kInPlace)) || send != MPI_IN_PLACE || block.bytes == 0) return;
  char* own = packed(&block);
  bool nothing = true;
  for (int i = 0; i < block.bytes; ++i) nothing = nothing && own[i] == 0;
  if (!nothing && due(kInPlace)) {
    memset(own, 0, (size_t)block.bytes);
    unpacked(&block, own);
    applied(kInPlace, call, "its own %d bytes are missing", block.bytes);
  }
  free(own);
}

// A rank's own block of a v-form.
static struct block own_block(void* at, const int* counts, const int* displacements, MPI_Datatype type, MPI_Comm comm) {
  const int own = rank_of(comm);
  return block_of((char*)at + displacements[own] * extent_of(type), counts[own], type);
}
// The first block of an exchange in place that goes to another rank.
static struct block other_block(void* at, const int* counts, const int* displacements, const MPI_Datatype* types,
                                MPI_Datatype type, MPI_Comm comm) {
  for (int i = 0; i < size_of(comm); ++i) {
    if (i == rank_of(comm) || bytes_of(counts[i], types ? types[i] : type) == 0) continue;
    return types ? block_of((char*)at + displacements[i], counts[i], types[i])
                 : block_of((char*)at + displacements[i] * extent_of(type), counts[i], type);
  }
  return block_of(at, 0, type);
}

// Blocks of the same size, one behind the other.
static struct operation* even_blocks(struct call call, bool blocking, void* at, int count, MPI_Datatype type,
                                     MPI_Comm comm) {
  const int blocks = size_of(comm);
  struct operation* op =
      operation_new(call, BIT(kDirection) | BIT(kLostBlock) | (blocking ? BIT(kBehind) : 0), comm, blocks);
  if (!op) return NULL;
  const MPI_Aint step = count * extent_of(type);
  for (int i = 0; i < blocks; ++i) operation_block(op, i, (char*)at + i * step, count, type, i);
  operation_before(op);
  return op;
}

static struct operation* displaced_blocks(struct call call, bool blocking, void* at, const int* counts,
                                          const int* displacements, MPI_Datatype type, MPI_Comm comm) {
  const int blocks = size_of(comm);
  const unsigned suits = BIT(kDisplacement) | BIT(kDirection) | BIT(kLostBlock);
  struct operation* op = operation_new(call, suits | (blocking ? BIT(kBehind) : 0), comm, blocks);
  if (!op) return NULL;
  const MPI_Aint extent = extent_of(type);
  for (int i = 0; i < blocks; ++i) {
    operation_block(op, i, (char*)at + displacements[i] * extent, counts[i], type, i);
    op->block[i].shiftable = displacements[i] > 0 && extent > 1;
    op->block[i].shift = displacements[i] - displacements[i] * extent;
  }
  operation_before(op);
  return op;
}

static struct operation* typed_blocks(struct call call, bool blocking, void* at, const int* counts,
                                      const int* displacements, const MPI_Datatype* types, MPI_Comm comm) {
  const int blocks = size_of(comm);
  struct operation* op =
      operation_new(call, BIT(kDirection) | BIT(kLostBlock) | (blocking ? BIT(kBehind) : 0), comm, blocks);
  for (int i = 0; op && i < blocks; ++i) operation_block(op, i, (char*)at + displacements[i], counts[i], types[i], i);
  operation_before(op);
  return op;
}

static struct operation* one_block(struct call call, unsigned suits, void* at, int count, MPI_Datatype type,
                                   MPI_Comm comm) {
  struct operation* op = operation_new(call, suits, comm, 1);
  operation_block(op, 0, at, count, type, 0);
  operation_before(op);
  return op;
}

static int finished(int code, struct operation* op) {
  if (code == MPI_SUCCESS) operation_after(op, NULL, false, "at once");
  operation_free(op);
  return leave(code);
}
static int begun(int code, struct operation* op, const MPI_Request* request) {
  if (op && code == MPI_SUCCESS) request_add(*request, op, NULL, false);
  else operation_free(op);
  return leave(code);
}

int MPI_Barrier(MPI_Comm comm) {
  PASS_ON(comm, Barrier, comm);
  (void)call;
  return leave(real.Barrier(comm));
}
BOTH_NAMES(Barrier);

// Both forms of a function: kBlocking is true in the first, and the second has a request.
#define UNPACK(...) __VA_ARGS__
#define FORMS(NAME, NONBLOCKING, PARAMETERS, ARGUMENTS, PREPARE, OPERATION) \
  int MPI_##NAME(UNPACK PARAMETERS) {                                       \
    PASS_ON(comm, NAME, UNPACK ARGUMENTS);                                  \
    enum { kBlocking = true };                                              \
    PREPARE;                                                                \
    struct operation* op = OPERATION;                                       \
    return finished(real.NAME(UNPACK ARGUMENTS), op);                       \
  }                                                                         \
  BOTH_NAMES(NAME);                                                         \
  int MPI_##NONBLOCKING(UNPACK PARAMETERS, MPI_Request* request) {          \
    PASS_ON(comm, NONBLOCKING, UNPACK ARGUMENTS, request);                  \
    enum { kBlocking = false };                                             \
    PREPARE;                                                                \
    struct operation* op = OPERATION;                                       \
    return begun(real.NONBLOCKING(UNPACK ARGUMENTS, request), op, request); \
  }                                                                         \
  BOTH_NAMES(NONBLOCKING)
#define NOTHING_TO_PREPARE (void)0

FORMS(Bcast, Ibcast, (void* at, int count, MPI_Datatype type, int root, MPI_Comm comm), (at, count, type, root, comm),
      NOTHING_TO_PREPARE,
      hears_root(comm, root) ? one_block(call, BIT(kRoot) | (kBlocking ? BIT(kBehind) : 0), at, count, type, comm)
                             : NULL);

FORMS(Gather, Igather,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type, int root,
       MPI_Comm comm),
      (from, from_count, from_type, at, count, type, root, comm),
      if (is_root(comm, root) && from == MPI_IN_PLACE)
          drop_own(call, from, block_of((char*)at + rank_of(comm) * count * extent_of(type), count, type)),
      is_root(comm, root) ? even_blocks(call, kBlocking, at, count, type, comm) : NULL);

FORMS(Gatherv, Igatherv,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, const int* counts, const int* displacements,
       MPI_Datatype type, int root, MPI_Comm comm),
      (from, from_count, from_type, at, counts, displacements, type, root, comm),
      if (is_root(comm, root) && from == MPI_IN_PLACE)
          drop_own(call, from, own_block(at, counts, displacements, type, comm)),
      is_root(comm, root) ? displaced_blocks(call, kBlocking, at, counts, displacements, type, comm) : NULL);

FORMS(Allgather, Iallgather,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type, MPI_Comm comm),
      (from, from_count, from_type, at, count, type, comm),
      if (from == MPI_IN_PLACE)
          drop_own(call, from, block_of((char*)at + rank_of(comm) * count * extent_of(type), count, type)),
      even_blocks(call, kBlocking, at, count, type, comm));

FORMS(Allgatherv, Iallgatherv,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, const int* counts, const int* displacements,
       MPI_Datatype type, MPI_Comm comm),
      (from, from_count, from_type, at, counts, displacements, type, comm),
      if (from == MPI_IN_PLACE) drop_own(call, from, own_block(at, counts, displacements, type, comm)),
      displaced_blocks(call, kBlocking, at, counts, displacements, type, comm));

FORMS(Alltoall, Ialltoall,
      (const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type, MPI_Comm comm),
      (from, from_count, from_type, at, count, type, comm),
      if (from == MPI_IN_PLACE) drop_own(call, from, block_of(at, count* size_of(comm), type)),
      even_blocks(call, kBlocking, at, count, type, comm));

// What a rank contributes in place to the v- and w-forms is dropped for one rank.
FORMS(Alltoallv, Ialltoallv,
      (const void* from, const int* from_counts, const int* from_displacements, MPI_Datatype from_type, void* at,
       const int* counts, const int* displacements, MPI_Datatype type, MPI_Comm comm),
      (from, from_counts, from_displacements, from_type, at, counts, displacements, type, comm),
      if (from == MPI_IN_PLACE) drop_own(call, from, other_block(at, counts, displacements, NULL, type, comm)),
      displaced_blocks(call, kBlocking, at, counts, displacements, type, comm));

FORMS(Alltoallw, Ialltoallw,
      (const void* from, const int* from_counts, const int* from_displacements, const MPI_Datatype* from_types,
       void* at, const int* counts, const int* displacements, const MPI_Datatype* types, MPI_Comm comm),
      (from, from_counts, from_displacements, from_types, at, counts, displacements, types, comm),
      if (from == MPI_IN_PLACE) drop_own(call, from, other_block(at, counts, displacements, types, MPI_BYTE, comm)),
      typed_blocks(call, kBlocking, at, counts, displacements, types, comm));

int MPI_Scatter(const void* from, int from_count, MPI_Datatype from_type, void* at, int count, MPI_Datatype type,
                int root, MPI_Comm comm) {
  PASS(Scatter, from, from_count, from_type, at, count, type, root, comm);
  struct operation* op = at == MPI_IN_PLACE || (!hears_root(comm, root) && is_inter(comm))
                             ? NULL
                             : one_block(call, BIT(kBehind), at, count, type, comm);
  return finished(real.Scatter(from, from_count, from_type, at, count, type, root, comm), op);
}
BOTH_NAMES(Scatter);

// The root's blocks as they should be, but one of them taken from a displacement in bytes.
static char* wrong_blocks(struct call call, const void** from, const int* counts, const int* displacements,
                          MPI_Datatype type, const void* at, MPI_Comm comm) {
  const int blocks = size_of(comm);
  const MPI_Aint extent = extent_of(type);
  if (!(watch & BIT(kDisplacement)) || extent <= 1) return NULL;
  char *lowest = NULL, *highest = NULL, *begin, *end;
  int wrong = -1;
  for (int pass = 0; pass < 2; ++pass)
    for (int i = 0; i < blocks; ++i) {
      struct block block = block_of((const char*)*from + displacements[i] * extent, counts[i], type);
      if (block.bytes == 0) continue;
      span_of(&block, &begin, &end);
      if (pass == 0) {
        if (!lowest || begin < lowest) lowest = begin;
        if (!highest || end > highest) highest = end;
        continue;
      }
      const ptrdiff_t shift = displacements[i] - displacements[i] * extent;
      if (wrong >= 0 || displacements[i] <= 0 || begin + shift < lowest || (i == rank_of(comm) && at == MPI_IN_PLACE))
        continue;
      char* right = packed(&block);
      block.at += shift;
      char* other = packed(&block);
      if (memcmp(right, other, (size_t)block.bytes) != 0) wrong = i;
      free(right), free(other);
    }
  if (wrong < 0 || !due(kDisplacement)) return NULL;
  char* staging = calloc((size_t)(highest - lowest), 1);
  const char* base = (char*)((uintptr_t)*from - (uintptr_t)lowest + (uintptr_t)staging);
  for (int i = 0; i < blocks; ++i) {
    struct block block = block_of((const char*)*from + displacements[i] * extent, counts[i], type);
    if (i == wrong) block.at += displacements[i] - displacements[i] * extent;
    char* bytes = packed(&block);
    block.at = (char*)(uintptr_t)base + displacements[i] * extent;
    unpacked(&block, bytes);
    free(bytes);
  }
  applied(kDisplacement, call, "block %d of %d is taken from byte %d", wrong, blocks, displacements[wrong]);
  *from = base;
  return staging;
}

int MPI_Scatterv(const void* from, const int* counts, const int* displacements, MPI_Datatype from_type, void* at,
                 int count, MPI_Datatype type, int root, MPI_Comm comm) {
  PASS(Scatterv, from, counts, displacements, from_type, at, count, type, root, comm);
  struct operation* op = at == MPI_IN_PLACE || (!hears_root(comm, root) && is_inter(comm))
                             ? NULL
                             : one_block(call, BIT(kBehind), at, count, type, comm);
  char* staging = is_root(comm, root) ? wrong_blocks(call, &from, counts, displacements, from_type, at, comm) : NULL;
  const int code = real.Scatterv(from, counts, displacements, from_type, at, count, type, root, comm);
  free(staging);
  return finished(code, op);
}
BOTH_NAMES(Scatterv);
