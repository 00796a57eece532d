// Reductions: of numbers that are small enough for every order to give the same result.
#include "traffic.h"

// x -> a x + b modulo 10007: a composition, which is not commutative.
struct map {
  int a, b;
};
enum { kModulus = 10007 };

static MPI_Datatype map_type;
static MPI_Op compose, add_odd;

static struct map composed(struct map first, struct map then) {
  return (struct map){(int)((long)first.a * then.a % kModulus), (int)(((long)first.b * then.a + then.b) % kModulus)};
}
static void compose_maps(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  struct map *first = in, *then = inout;
  for (int i = 0; i < *length; ++i) then[i] = composed(first[i], then[i]);
}
// A sum that is off by one, so that it is not MPI_SUM, but commutative.
static void add_and_one(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)inout)[i] += ((int*)in)[i] + 1;
}

void operations_make(void) {
  MPI_Type_contiguous(2, MPI_INT, &map_type);
  MPI_Type_commit(&map_type);
  MPI_Op_create(compose_maps, 0, &compose);
  MPI_Op_create(add_and_one, 1, &add_odd);
}
void operations_free(void) {
  MPI_Op_free(&compose);
  MPI_Op_free(&add_odd);
  MPI_Type_free(&map_type);
}

enum operand { kInts, kLongs, kDoubles, kIntPairs, kDoublePairs, kMaps, kOperands };
struct int_pair {
  int value, index;
};
struct double_pair {
  double value;
  int index;
};

struct operation {
  enum operand operand;
  MPI_Op op;
  MPI_Datatype type;
  int bytes;  // of one
};

static struct operation operation_drawn(void) {
  static const int sizes[] = {
      sizeof(int),       sizeof(long), sizeof(double), sizeof(struct int_pair), sizeof(struct double_pair),
      sizeof(struct map)};
  const MPI_Datatype types[] = {MPI_INT, MPI_LONG, MPI_DOUBLE, MPI_2INT, MPI_DOUBLE_INT, map_type};
  const MPI_Op integers[] = {MPI_SUM,  MPI_SUM,  MPI_PROD, MPI_MAX,  MPI_MIN,
                             MPI_BXOR, MPI_BAND, MPI_BOR,  MPI_LAND, MPI_LXOR};
  const int drawn = draw(16), which = draw(10);
  struct operation it;
  it.operand = drawn < 6    ? kInts
               : drawn < 8  ? kLongs
               : drawn < 12 ? kDoubles
               : drawn < 13 ? kIntPairs
               : drawn < 14 ? kDoublePairs
                            : kMaps;
  it.type = types[it.operand];
  it.bytes = sizes[it.operand];
  switch (it.operand) {
    case kInts: it.op = drawn == 0 ? add_odd : integers[which]; break;
    case kLongs: it.op = integers[which]; break;
    case kDoubles: it.op = integers[which % 5]; break;
    case kMaps: it.op = compose; break;
    default: it.op = which % 2 ? MPI_MINLOC : MPI_MAXLOC;
  }
  return it;
}

// What a rank contributes as its i-th.
static void value(const struct operation* it, int who, int number, int i, void* to) {
  const int x = pick(it->op == MPI_PROD ? 3 : 1 << 20, who, 1000 * number + i);
  const int signed_x = it->op == MPI_PROD ? x + 1 : x - (1 << 19);
  switch (it->operand) {
    case kInts: *(int*)to = signed_x; break;
    case kLongs: *(long*)to = signed_x; break;
    case kDoubles: *(double*)to = signed_x; break;
    case kIntPairs: *(struct int_pair*)to = (struct int_pair){x % 7, who}; break;
    case kDoublePairs:
      memset(to, 0, sizeof(struct double_pair));
      ((struct double_pair*)to)->value = x % 7;
      ((struct double_pair*)to)->index = who;
      break;
    default: *(struct map*)to = (struct map){x % kModulus, x % 9973};
  }
}

#define INTEGERS(TYPE)                               \
  do {                                               \
    const TYPE a = *(const TYPE*)in, b = *(TYPE*)to; \
    *(TYPE*)to = it->op == MPI_BXOR   ? a ^ b        \
                 : it->op == MPI_BAND ? (a & b)      \
                 : it->op == MPI_BOR  ? (a | b)      \
                 : it->op == MPI_LAND ? (a && b)     \
                                      : (!a != !b);  \
  } while (0)
#define NUMBERS(TYPE)                                       \
  do {                                                      \
    const TYPE a = *(const TYPE*)in, b = *(TYPE*)to;        \
    if (it->op == MPI_SUM) *(TYPE*)to = a + b;              \
    else if (it->op == MPI_PROD) *(TYPE*)to = a * b;        \
    else if (it->op == MPI_MAX) *(TYPE*)to = a > b ? a : b; \
    else if (it->op == MPI_MIN) *(TYPE*)to = a < b ? a : b; \
  } while (0)
#define LOCATIONS(TYPE)                                                                                 \
  do {                                                                                                  \
    const TYPE a = *(const TYPE*)in, b = *(TYPE*)to;                                                    \
    const bool less = a.value < b.value || (a.value == b.value && a.index < b.index);                   \
    const bool more = a.value > b.value || (a.value == b.value && a.index < b.index);                   \
    if (it->op == MPI_MINLOC ? less : more) ((TYPE*)to)->value = a.value, ((TYPE*)to)->index = a.index; \
  } while (0)

// to = in op to
static void combine(const struct operation* it, const void* in, void* to) {
  const bool arithmetic = it->op == MPI_SUM || it->op == MPI_PROD || it->op == MPI_MAX || it->op == MPI_MIN;
  switch (it->operand) {
    case kInts:
      if (it->op == add_odd) *(int*)to += *(const int*)in + 1;
      else if (arithmetic) NUMBERS(int);
      else INTEGERS(int);
      break;
    case kLongs:
      if (arithmetic) NUMBERS(long);
      else INTEGERS(long);
      break;
    case kDoubles: NUMBERS(double); break;
    case kIntPairs: LOCATIONS(struct int_pair); break;
    case kDoublePairs: LOCATIONS(struct double_pair); break;
    default: *(struct map*)to = composed(*(const struct map*)in, *(struct map*)to);
  }
}

// The bytes of a struct that are no data stay as they are.
static void store(const struct operation* it, void* to, const void* from) {
  if (it->operand != kDoublePairs) {
    memcpy(to, from, (size_t)it->bytes);
    return;
  }
  ((struct double_pair*)to)->value = ((const struct double_pair*)from)->value;
  ((struct double_pair*)to)->index = ((const struct double_pair*)from)->index;
}

static void contribute(const struct operation* it, unsigned char* at, int elements, int number) {
  union {
    double aligned;
    char bytes[16];
  } one;
  for (int i = 0; i < elements; ++i) {
    value(it, rank, number, i, &one);
    store(it, at + i * it->bytes, &one);
    if (verify) store(it, image(at + i * it->bytes), &one);
  }
}

// What the ranks 0 to `last` of a team make of their elements from `first` on.
static void expect_combined(const struct operation* it, const struct team* team, int last, int number, int first,
                            int elements, unsigned char* at) {
  union {
    double aligned;
    char bytes[16];
  } result, one;
  for (int i = 0; verify && i < elements; ++i) {
    value(it, team->who[last], number, first + i, &result);
    for (int k = last - 1; k >= 0; --k) {
      value(it, team->who[k], number, first + i, &one);
      combine(it, &one, &result);
    }
    store(it, image(at + i * it->bytes), &result);
  }
}

#define REDUCTION                                                      \
  const struct operation it = operation_drawn();                       \
  const struct team* team = team_drawn();                              \
  const enum mode mode = mode_drawn();                                 \
  const int elements = 1 + draw(chance(20) ? 900 : 24), how = draw(2); \
  const int root = draw(60) % team->size, me = team->rank;             \
  const bool in_place = chance(3);                                     \
  MPI_Request request = MPI_REQUEST_NULL;                              \
  (void)root, (void)me
#define DONE                                             \
  do {                                                   \
    if (mode == kPersistent) MPI_Request_free(&request); \
  } while (0)

void reduce(void) {
  REDUCTION;
  const int bytes = elements * it.bytes;
  // MPICH 4.0 crashes when a root that is not the first rank reduces much in place.
  const bool at_root = me == root, here = at_root && in_place && (kOpenMpi || root == 0 || bytes <= 2048);
  unsigned char *from = take(bytes, kSend), *at = take(at_root ? bytes : 0, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(at, at_root ? bytes : 0, kReceive + start);
    contribute(&it, here ? at : from, elements, start);
    COLLECTIVE(Reduce, Ireduce, here ? MPI_IN_PLACE : from, at, elements, it.type, it.op, root, team->comm);
    complete(&request, mode, how);
    if (at_root) expect_combined(&it, team, team->size - 1, start, 0, elements, at);
    check(at, at_root ? bytes : 0);
  }
  DONE;
}

void allreduce(void) {
  REDUCTION;
  const int bytes = elements * it.bytes;
  unsigned char *from = take(bytes, kSend), *at = take(bytes, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(at, bytes, kReceive + start);
    contribute(&it, in_place ? at : from, elements, start);
    COLLECTIVE(Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : from, at, elements, it.type, it.op, team->comm);
    complete(&request, mode, how);
    expect_combined(&it, team, team->size - 1, start, 0, elements, at);
    check(at, bytes);
  }
  DONE;
}

void reduce_scatter(void) {
  REDUCTION;
  const bool even = chance(2);
  int counts[kMaxRanks], before = 0, all = 0;
  for (int i = 0; i < team->size; ++i) {
    counts[i] = even ? (elements + 5) / 6 : pick(elements, i, 0);
    if (i < me) before += counts[i];
    all += counts[i];
  }
  const int room = in_place ? all : counts[me];
  unsigned char *from = take(all * it.bytes, kSend), *at = take(room * it.bytes, kReceive);
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(at, room * it.bytes, kReceive + start);
    contribute(&it, in_place ? at : from, all, start);
    const void* const here = in_place ? MPI_IN_PLACE : from;
    if (even) COLLECTIVE(Reduce_scatter_block, Ireduce_scatter_block, here, at, counts[0], it.type, it.op, team->comm);
    else COLLECTIVE(Reduce_scatter, Ireduce_scatter, here, at, counts, it.type, it.op, team->comm);
    complete(&request, mode, how);
    expect_combined(&it, team, team->size - 1, start, before, counts[me], at);
    // What is behind the result of a reduction in place is anybody's.
    if (verify && room > counts[me])
      memcpy(image(at + counts[me] * it.bytes), at + counts[me] * it.bytes, (size_t)((room - counts[me]) * it.bytes));
    check(at, room * it.bytes);
  }
  DONE;
}

// MPI_Scan and MPI_Exscan, and what a rank can combine alone.
void scan(void) {
  REDUCTION;
  const int way = draw(5), bytes = elements * it.bytes;
  unsigned char *from = take(bytes, kSend), *at = take(bytes, kReceive);
  if (way == 4) {
    contribute(&it, from, elements, 0);
    contribute(&it, at, elements, 1);
    MPI_Reduce_local(from, at, elements, it.type, it.op);
    for (int i = 0; verify && i < elements; ++i) combine(&it, image(from + i * it.bytes), image(at + i * it.bytes));
    check(at, bytes);
    return;
  }
  for (int start = 0; start < starts_of(mode); ++start) {
    fresh(at, bytes, kReceive + start);
    contribute(&it, in_place ? at : from, elements, start);
    const void* const here = in_place ? MPI_IN_PLACE : from;
    if (way < 2) COLLECTIVE(Scan, Iscan, here, at, elements, it.type, it.op, team->comm);
    else COLLECTIVE(Exscan, Iexscan, here, at, elements, it.type, it.op, team->comm);
    complete(&request, mode, how);
    if (way < 2 || me > 0) expect_combined(&it, team, way < 2 ? me : me - 1, start, 0, elements, at);
    // MPI says nothing about the result of the first rank.
    else if (verify) memcpy(image(at), at, (size_t)bytes);
    check(at, bytes);
  }
  DONE;
}
