// Shapes: the same numbers, somehow laid out in memory.
#include "traffic.h"

#include <stddef.h>

struct pair {
  int one;
  double other;
};

struct base bases[kBases];

void bases_make(void) {
  const MPI_Datatype types[kBases] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_DOUBLE};
  const int sizes[kBases] = {sizeof(char), sizeof(short), sizeof(int), sizeof(long), sizeof(double)};
  for (int i = 0; i < kPair; ++i) bases[i] = (struct base){types[i], sizes[i], sizes[i], 1};
  MPI_Datatype both[2] = {MPI_INT, MPI_DOUBLE}, made;
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {offsetof(struct pair, one), offsetof(struct pair, other)};
  MPI_Type_create_struct(2, lengths, places, both, &made);
  MPI_Type_create_resized(made, 0, sizeof(struct pair), &bases[kPair].type);
  MPI_Type_commit(&bases[kPair].type);
  MPI_Type_free(&made);
  bases[kPair].size = sizeof(int) + sizeof(double);
  bases[kPair].extent = sizeof(struct pair);
  bases[kPair].basics = 2;
}
void bases_free(void) { MPI_Type_free(&bases[kPair].type); }

int elements_drawn(void) {
  const int drawn = draw(48);
  return drawn == 0 ? 0 : drawn == 1 ? 12 * (50 + draw(300)) : chance(2) ? 12 * (1 + draw(4)) : 1 + draw(48);
}

// MPICH 4.0 takes a large message for truncated that was packed and is received as pairs, which have a gap.
int base_drawn(int elements) {
  const int base = draw(kBases);
  return base == kPair && elements > 48 && !kOpenMpi ? kDouble : base;
}

// `number` elements of the base type, one behind the other.
static void leaf(struct shape* shape, int offset, int number) {
  const struct base* base = &bases[shape->base];
  shape->size += number * base->size;
  for (int i = 0; base->basics > 1 && i < number; ++i) {
    const int at = offset + i * base->extent;
    shape->leaf[shape->leaves++] = (struct leaf){at + (int)offsetof(struct pair, one), sizeof(int)};
    shape->leaf[shape->leaves++] = (struct leaf){at + (int)offsetof(struct pair, other), sizeof(double)};
  }
  if (base->basics == 1) shape->leaf[shape->leaves++] = (struct leaf){offset, number * base->size};
  if (shape->upper < offset + number * base->extent) shape->upper = offset + number * base->extent;
}

static int divisor_drawn(int n, int at_most) {
  int found[64], number = 0;
  for (int i = 1; i <= n && i <= at_most && number < 64; ++i)
    if (n % i == 0) found[number++] = i;
  return found[draw(number)];
}

enum { kPlain, kContiguous, kResized, kVector, kHvector, kIndexed, kStruct, kSubarray, kNested, kKinds };

void shape_plain(struct shape* shape, int base, int elements) {
  memset(shape, 0, sizeof *shape);
  shape->base = base;
  shape->type = bases[base].type;
  shape->count = elements;
  shape->elements = 1;
  leaf(shape, 0, 1);
  shape->extent = bases[base].extent;
}

// Blocks of different lengths, in any order in memory, the first ones perhaps behind the last ones.
static void blocks_drawn(struct shape* shape, int first_gap) {
  const int extent = bases[shape->base].extent;
  int left = shape->elements, at = first_gap, order[8];
  shape->blocks = 1 + draw(left < 6 ? left : 6);
  for (int i = 0; i < shape->blocks; ++i) {
    order[i] = i;
    shape->lengths[i] = i == shape->blocks - 1 ? left : 1 + draw(left - (shape->blocks - 1 - i));
    left -= shape->lengths[i];
  }
  if (chance(3)) {
    for (int i = shape->blocks - 1; i > 0; --i) {
      const int j = draw(i + 1), other = order[i];
      order[i] = order[j];
      order[j] = other;
    }
  }
  for (int i = 0; i < shape->blocks; ++i) {
    shape->places[order[i]] = at;
    at += shape->lengths[order[i]] + draw(3);
  }
  for (int i = 0; i < shape->blocks; ++i) leaf(shape, shape->places[i] * extent, shape->lengths[i]);
}

void shape_draw(struct shape* shape, int base, int elements) {
  int kind = draw(kKinds + 2);
  if (kind >= kKinds) kind = kPlain + 3 * (kind - kKinds);  // plain ones and vectors are the most common
  if (elements == 0 || (elements > 48 && base == kPair)) kind = kPlain;
  if (elements > 48 && kind > kVector) kind = kVector;
  shape_plain(shape, base, elements);
  if (kind == kPlain) return;
  const int extent = bases[base].extent;
  shape->count = divisor_drawn(elements, 3);
  shape->elements = elements / shape->count;
  shape->kind = kind;
  shape->size = shape->leaves = shape->upper = 0;
  const int n = shape->elements;
  int gap;
  switch (kind) {
    case kContiguous:
      leaf(shape, 0, n);
      shape->extent = shape->upper;
      break;
    case kResized:
      leaf(shape, 0, n);
      shape->extent = shape->upper + 8 * draw(4);
      break;
    case kVector:
    case kHvector:
      shape->blocks = divisor_drawn(n, 48);
      shape->length = n / shape->blocks;
      shape->stride = (shape->length + 1 + draw(3)) * extent + (kind == kHvector ? 8 : 0);
      for (int i = 0; i < shape->blocks; ++i) leaf(shape, i * shape->stride, shape->length);
      shape->extent = shape->upper;
      break;
    case kIndexed:
      gap = draw(3);
      blocks_drawn(shape, gap);
      shape->extent = shape->upper - gap * extent;
      break;
    case kStruct:
      blocks_drawn(shape, 0);
      shape->extent = (shape->upper + 15) / 16 * 16;
      break;
    case kSubarray:  // lengths: rows and columns of the whole and of the part; places: where it begins
      shape->lengths[2] = divisor_drawn(n, 48);
      shape->lengths[3] = n / shape->lengths[2];
      for (int i = 0; i < 2; ++i) {
        shape->places[i] = draw(3);
        shape->lengths[i] = shape->lengths[2 + i] + shape->places[i] + draw(3);
      }
      for (int i = 0; i < shape->lengths[2]; ++i)
        leaf(shape, ((shape->places[0] + i) * shape->lengths[1] + shape->places[1]) * extent, shape->lengths[3]);
      shape->extent = shape->lengths[0] * shape->lengths[1] * extent;
      break;
    case kNested:  // every second element, in pieces
      shape->blocks = divisor_drawn(n, 48);
      shape->length = n / shape->blocks;
      shape->stride = shape->length + 1 + draw(2);
      for (int i = 0; i < n; ++i) leaf(shape, (i / shape->length * shape->stride + i % shape->length) * 2 * extent, 1);
      shape->extent = shape->upper + extent;
      break;
    default: break;
  }
}

static void resize(MPI_Datatype* type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(*type, lower, extent, &made);
  MPI_Type_free(type);
  *type = made;
}

void shape_make(struct shape* shape) {
  const MPI_Datatype base = bases[shape->base].type;
  const int extent = bases[shape->base].extent;
  MPI_Datatype inner, made = MPI_DATATYPE_NULL;
  MPI_Aint places[8];
  MPI_Datatype types[8];
  for (int i = 0; i < 8; ++i) {
    places[i] = shape->places[i] * extent;
    types[i] = base;
  }
  switch (shape->kind) {
    case kPlain: return;
    case kContiguous: MPI_Type_contiguous(shape->elements, base, &made); break;
    case kResized:
      MPI_Type_contiguous(shape->elements, base, &made);
      resize(&made, -8, shape->extent);
      break;
    case kVector: MPI_Type_vector(shape->blocks, shape->length, shape->stride / extent, base, &made); break;
    case kHvector: MPI_Type_create_hvector(shape->blocks, shape->length, shape->stride, base, &made); break;
    case kIndexed: MPI_Type_indexed(shape->blocks, shape->lengths, shape->places, base, &made); break;
    case kStruct:
      MPI_Type_create_struct(shape->blocks, shape->lengths, places, types, &made);
      resize(&made, 0, shape->extent);
      break;
    case kSubarray:
      MPI_Type_create_subarray(2, shape->lengths, shape->lengths + 2, shape->places, MPI_ORDER_C, base, &made);
      break;
    default:
      MPI_Type_create_resized(base, 0, 2 * extent, &inner);
      MPI_Type_vector(shape->blocks, shape->length, shape->stride, inner, &made);
      MPI_Type_free(&inner);
  }
  MPI_Type_commit(&made);
  shape->type = made;
  shape->owned = true;
}

void shape_free(struct shape* shape) {
  if (shape->owned) MPI_Type_free(&shape->type);
  shape->owned = false;
}

int shape_bytes(const struct shape* shape, int times) { return shape->size * shape->count * times; }
int shape_step(const struct shape* shape) { return shape->extent * shape->count; }
int shape_span(const struct shape* shape, int times) {
  return shape->count * times == 0 ? 0 : (shape->count * times - 1) * shape->extent + shape->upper;
}

enum { kStream = 4 << 20 };

static int collect(unsigned char* stream, const unsigned char* at, const struct shape* shape, int times) {
  int position = 0;
  for (int i = 0; i < shape->count * times; ++i)
    for (int k = 0; k < shape->leaves; ++k) {
      memcpy(stream + position, at + i * shape->extent + shape->leaf[k].offset, (size_t)shape->leaf[k].length);
      position += shape->leaf[k].length;
    }
  return position;
}

static void spread(unsigned char* at, const struct shape* shape, const unsigned char* stream, int bytes) {
  int position = 0;
  for (int i = 0; position < bytes; ++i)
    for (int k = 0; k < shape->leaves && position < bytes; ++k) {
      const int left = bytes - position, length = shape->leaf[k].length < left ? shape->leaf[k].length : left;
      memcpy(at + i * shape->extent + shape->leaf[k].offset, stream + position, (size_t)length);
      position += length;
    }
}

void expect(void* at, const struct shape* to, int who, int number, const struct shape* from, int offset, int times) {
  static unsigned char sent[kStream], stream[kStream];
  if (!verify || times == 0 || from->count == 0) return;
  fill(sent, offset + shape_span(from, times), who, number);
  const int bytes = collect(stream, sent + offset, from, times);
  spread(image(at), to, stream, bytes);
}

void check_status(const MPI_Status* status, int source, int tag, const struct shape* to, int bytes) {
  int count, elements;
  if (!verify) return;
  if (status->MPI_SOURCE != source) wrong("source");
  if (status->MPI_TAG != tag) wrong("tag");
  MPI_Get_count(status, to->type, &count);
  MPI_Get_elements(status, to->type, &elements);
  if (count != (bytes % to->size ? MPI_UNDEFINED : bytes / to->size)) wrong("count");
  if (elements != bytes / bases[to->base].size * bases[to->base].basics) wrong("elements");
}
