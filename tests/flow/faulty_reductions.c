// Reductions that leave one rank out. All ranks show each other what they contribute, so that each of them can tell
// what the result would be without the rank that is left out, whether that differs, and whether it is this call's turn.
#include "faulty.h"

enum kind { kEverywhere, kAtRoot, kPrefix, kPrefixBefore };

struct reduction {
  struct call call;
  enum kind kind;
  int root;
  MPI_Comm comm;
  MPI_Op op;
  int count;  // of the contributions
  MPI_Datatype type;
  char* own;
  bool in_place;
  void* result;
  int skip, result_count;  // the part of the result that is this rank's
  MPI_Aint extent;
  int ranks, rank;
};

static char* room(const struct reduction* red, int copies) {
  return calloc((size_t)red->count * (size_t)red->extent * (size_t)copies + 64, 1);
}

static struct reduction* reduction_new(struct call call, enum kind kind, int root, const void* send, void* receive,
                                       int skip, int result_count, int count, MPI_Datatype type, MPI_Op op,
                                       MPI_Comm comm) {
  int inter;
  MPI_Aint lower, extent;
  if (!wanted_together(kSkippedRank) && !wanted_together(kInPlace)) return NULL;
  real.Comm_test_inter(comm, &inter);
  real.Type_get_true_extent(type, &lower, &extent);
  if (inter || size_of(comm) < 2 || bytes_of(count, type) == 0 || lower != 0 || extent > extent_of(type)) return NULL;
  struct reduction* red = malloc(sizeof *red);
  *red = (struct reduction){.call = call,
                            .kind = kind,
                            .root = root,
                            .comm = comm,
                            .op = op,
                            .count = count,
                            .type = type,
                            .in_place = send == MPI_IN_PLACE,
                            .result = receive,
                            .skip = skip,
                            .result_count = result_count,
                            .extent = extent_of(type),
                            .ranks = size_of(comm),
                            .rank = rank_of(comm)};
  red->own = room(red, 1);
  const struct block block = block_of(red->in_place ? receive : send, count, type);
  char* bytes = packed(&block);
  const struct block copy = block_of(red->own, count, type);
  unpacked(&copy, bytes);
  free(bytes);
  return red;
}

// Combines the contributions of ranks 0 to `last` in this order; NULL if there are none.
static char* combined(const struct reduction* red, const char* all, int last, int without) {
  const size_t one = (size_t)red->count * (size_t)red->extent;
  char* result = NULL;
  for (int i = last; i >= 0; --i) {
    if (i == without) continue;
    char* in = room(red, 1);
    memcpy(in, all + (size_t)i * one, one);
    if (!result) {
      result = in;
      continue;
    }
    real.Reduce_local(in, result, red->count, red->type, red->op);
    free(in);
  }
  return result;
}

static bool differs_at(const struct reduction* red, const char* all, int last, int without) {
  char* right = combined(red, all, last, -1);
  char* wrong = combined(red, all, last, without);
  bool differs = false;
  if (right && wrong) {
    const struct block one = block_of(right, red->count, red->type), other = block_of(wrong, red->count, red->type);
    char *bytes = packed(&one), *other_bytes = packed(&other);
    differs = memcmp(bytes, other_bytes, (size_t)one.bytes) != 0;
    free(bytes), free(other_bytes);
  }
  free(right), free(wrong);
  return differs;
}

static bool differs(const struct reduction* red, const char* all, int without) {
  if (red->kind == kEverywhere || red->kind == kAtRoot) return differs_at(red, all, red->ranks - 1, without);
  for (int i = without; i < red->ranks; ++i)
    if (differs_at(red, all, red->kind == kPrefix ? i : i - 1, without)) return true;
  return false;
}

static void write_without(const struct reduction* red, const char* all, int without) {
  if (red->kind == kAtRoot && red->rank != red->root) return;
  const bool prefix = red->kind == kPrefix || red->kind == kPrefixBefore;
  const int last = red->kind == kPrefix ? red->rank : red->kind == kPrefixBefore ? red->rank - 1 : red->ranks - 1;
  if (prefix && !differs_at(red, all, last, without)) return;
  char* wrong = combined(red, all, last, without);
  const struct block from = block_of(wrong + red->skip * red->extent, red->result_count, red->type);
  const struct block to = block_of(red->result, red->result_count, red->type);
  char* bytes = packed(&from);
  unpacked(&to, bytes);
  free(bytes), free(wrong);
}

static int rank_in(MPI_Comm comm, int world) {
  MPI_Group everybody, group;
  int rank = MPI_UNDEFINED;
  real.Comm_group(MPI_COMM_WORLD, &everybody);
  real.Comm_group(comm, &group);
  real.Group_translate_ranks(everybody, 1, &world, group, &rank);
  real.Group_free(&everybody);
  real.Group_free(&group);
  return rank;
}

static int reduced(int code, struct reduction* red, struct operation* behind) {
  if (code == MPI_SUCCESS) operation_after(behind, NULL, false, "at once");
  operation_free(behind);
  const int breaking = breaking_rank();
  // When it only counts, every rank asks about itself.
  const int without = !red ? MPI_UNDEFINED : breaking < 0 ? red->rank : rank_in(red->comm, breaking);
  if (without != MPI_UNDEFINED) {
    const enum fault fault = wanted_together(kSkippedRank) ? kSkippedRank : kInPlace;
    long own[2] = {red->in_place, eligible(fault)};
    long* shown = malloc((size_t)red->ranks * sizeof own);
    real.Allgather(own, 2, MPI_LONG, shown, 2, MPI_LONG, red->comm);
    char* all = room(red, red->ranks);
    real.Allgather(red->own, red->count, red->type, all, red->count, red->type, red->comm);
    const bool in_place = shown[2 * without];
    if ((fault == kSkippedRank || in_place) && differs(red, all, without)) {
      if (breaking < 0) {
        due(kSkippedRank);
        if (in_place) due(kInPlace);
      } else {
        if (without == red->rank) due(fault);
        if (shown[2 * without + 1] == breaking_index()) {
          write_without(red, all, without);
          if (without == red->rank)
            applied(fault, red->call, "%d elements without those of rank %d of %d", red->count, without, red->ranks);
        }
      }
    }
    free(shown), free(all);
  }
  if (red) free(red->own);
  free(red);
  return leave(code);
}

// Where the result is.
static struct operation* behind(struct call call, void* at, int count, MPI_Datatype type, MPI_Comm comm) {
  struct operation* op = operation_new(call, BIT(kBehind), comm, 1);
  operation_block(op, 0, at, count, type, 0);
  operation_before(op);
  return op;
}

int MPI_Reduce(const void* from, void* at, int count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm) {
  PASS(Reduce, from, at, count, type, op, root, comm);
  const bool mine = is_root(comm, root);
  struct reduction* red = reduction_new(call, kAtRoot, root, from, at, 0, count, count, type, op, comm);
  struct operation* around = mine ? behind(call, at, count, type, comm) : NULL;
  return reduced(real.Reduce(from, at, count, type, op, root, comm), red, around);
}
BOTH_NAMES(Reduce);

#define TO_ALL(NAME, KIND)                                                                             \
  int MPI_##NAME(const void* from, void* at, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) { \
    PASS(NAME, from, at, count, type, op, comm);                                                       \
    struct reduction* red = reduction_new(call, KIND, 0, from, at, 0, count, count, type, op, comm);   \
    struct operation* around = behind(call, at, count, type, comm);                                    \
    return reduced(real.NAME(from, at, count, type, op, comm), red, around);                           \
  }                                                                                                    \
  BOTH_NAMES(NAME)
TO_ALL(Allreduce, kEverywhere);
TO_ALL(Scan, kPrefix);
TO_ALL(Exscan, kPrefixBefore);

int MPI_Reduce_scatter(const void* from, void* at, const int* counts, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  PASS(Reduce_scatter, from, at, counts, type, op, comm);
  const int own = rank_of(comm);
  int before = 0, all = 0;
  for (int i = 0; i < size_of(comm); ++i) {
    if (i < own) before += counts[i];
    all += counts[i];
  }
  struct reduction* red = reduction_new(call, kEverywhere, 0, from, at, before, counts[own], all, type, op, comm);
  struct operation* around = behind(call, at, from == MPI_IN_PLACE ? all : counts[own], type, comm);
  return reduced(real.Reduce_scatter(from, at, counts, type, op, comm), red, around);
}
BOTH_NAMES(Reduce_scatter);

int MPI_Reduce_scatter_block(const void* from, void* at, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  PASS(Reduce_scatter_block, from, at, count, type, op, comm);
  const int own = rank_of(comm), all = count * size_of(comm);
  struct reduction* red = reduction_new(call, kEverywhere, 0, from, at, own * count, count, all, type, op, comm);
  struct operation* around = behind(call, at, from == MPI_IN_PLACE ? all : count, type, comm);
  return reduced(real.Reduce_scatter_block(from, at, count, type, op, comm), red, around);
}
BOTH_NAMES(Reduce_scatter_block);
