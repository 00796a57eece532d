#include "types.h"

#include <complex.h>
#include <wchar.h>

// long double is not here: its padding need not be transferred.
#define BASIC(handle, type) {handle, #handle, sizeof(type), _Alignof(type)}
const struct basic basics[] = {
    BASIC(MPI_CHAR, char),
    BASIC(MPI_SIGNED_CHAR, signed char),
    BASIC(MPI_UNSIGNED_CHAR, unsigned char),
    BASIC(MPI_BYTE, char),
    BASIC(MPI_SHORT, short),
    BASIC(MPI_UNSIGNED_SHORT, unsigned short),
    BASIC(MPI_INT, int),
    BASIC(MPI_UNSIGNED, unsigned),
    BASIC(MPI_LONG, long),
    BASIC(MPI_UNSIGNED_LONG, unsigned long),
    BASIC(MPI_LONG_LONG, long long),
    BASIC(MPI_UNSIGNED_LONG_LONG, unsigned long long),
    BASIC(MPI_FLOAT, float),
    BASIC(MPI_DOUBLE, double),
    BASIC(MPI_WCHAR, wchar_t),
    BASIC(MPI_INT8_T, int8_t),
    BASIC(MPI_INT16_T, int16_t),
    BASIC(MPI_INT32_T, int32_t),
    BASIC(MPI_INT64_T, int64_t),
    BASIC(MPI_UINT8_T, uint8_t),
    BASIC(MPI_UINT16_T, uint16_t),
    BASIC(MPI_UINT32_T, uint32_t),
    BASIC(MPI_UINT64_T, uint64_t),
    BASIC(MPI_AINT, MPI_Aint),
    BASIC(MPI_OFFSET, MPI_Offset),
    BASIC(MPI_COUNT, MPI_Count),
    BASIC(MPI_C_FLOAT_COMPLEX, float _Complex),
    BASIC(MPI_C_DOUBLE_COMPLEX, double _Complex),
};
const int basics_count = sizeof basics / sizeof basics[0];

int find_basic(MPI_Datatype handle) {
  for (int i = 0; i < basics_count; ++i)
    if (basics[i].handle == handle) return i;
  return -1;
}

struct type* basic_type(int basic) {
  struct type* t = KEEP(struct type, 1);
  t->handle = basics[basic].handle;
  t->predefined = true;
  snprintf(t->name, sizeof t->name, "%s", basics[basic].name);
  t->form = basics[basic].name;
  t->entries = t->pieces = 1;
  t->at = KEEP(ptrdiff_t, 1);
  t->basic = KEEP(int, 1);
  t->basic[0] = basic;
  t->piece = KEEP(struct piece, 1);
  t->piece[0].length = t->size = (size_t)basics[basic].size;
  t->extent = t->high = basics[basic].size;
  t->align = basics[basic].align;
  return t;
}

void type_span(const struct type* type, long count, ptrdiff_t* low, ptrdiff_t* high) {
  *low = *high = 0;
  if (count == 0) return;
  *low = type->low;
  *high = type->high + (count - 1) * type->extent;
}

void type_scatter(const struct type* type, unsigned char* address, const unsigned char* packed, size_t bytes) {
  if (type->pieces == 1 && (ptrdiff_t)type->size == type->extent) {
    memcpy(address + type->piece[0].at, packed, bytes);
    return;
  }
  while (bytes > 0) {
    for (int i = 0; i < type->pieces && bytes > 0; ++i) {
      const size_t length = type->piece[i].length < bytes ? type->piece[i].length : bytes;
      memcpy(address + type->piece[i].at, packed, length);
      packed += length;
      bytes -= length;
    }
    address += type->extent;
  }
}

long type_position(const struct type* type, long count, ptrdiff_t offset) {
  for (long item = 0; item < count; ++item) {
    const ptrdiff_t within = offset - item * type->extent;
    size_t before = 0;
    for (int i = 0; i < type->pieces; ++i) {
      const ptrdiff_t from = within - type->piece[i].at;
      if (from >= 0 && from < (ptrdiff_t)type->piece[i].length) return item * (long)type->size + (long)before + from;
      before += type->piece[i].length;
    }
  }
  return -1;
}

void draw_signature(struct draw* d, struct signature* unit) {
  unit->length = draw_chance(d, 75) ? 1 : (int)draw_between(d, 2, 4);
  unit->size = 0;
  for (int i = 0; i < unit->length; ++i) {
    unit->basic[i] = (int)draw_below(d, basics_count);
    unit->size += (size_t)basics[unit->basic[i]].size;
  }
}

int side_of(const struct sides* sides, uint64_t who) { return (int)(mix(sides->mask, who) & 1) & (sides->mask != 0); }

void draw_sides(struct scenario* s, struct sides* sides, bool alike) {
  static const int multiples[][4] = {{1, 1, 1, 1}, {1, 2, 4, 1}, {2, 1, 1, 4}, {3, 1, 6, 2}, {1, 6, 3, 1}, {4, 4, 4, 4},
                                     {12, 12, 12, 12}, {1, 32, 8, 2}, {60, 60, 60, 60}, {24, 1, 1, 2}};
  const char* names[4];
  draw_signature(&s->draw, &sides->unit);
  const int* multiple = multiples[draw_below(&s->draw, 10)];
  sides->mask = draw_chance(&s->draw, 40) && !alike ? draw_bits(&s->draw) : 0;
  const bool plain = draw_chance(&s->draw, 15);
  const bool uniform = options.uniform;
  long all = 0;
  for (int i = 0; i < 4; ++i) all = multiple[i] > all ? multiple[i] : all;
  if (uniform) all = multiple[0];
  for (int i = 0; i < 4; ++i) {
    // Each datatype has draws of its own, so that the case does not depend on how many this one takes.
    struct draw d = {mix(s->key, (uint64_t)(100 + i))};
    const struct type* type;
    if (uniform && i > 0) type = sides->send[0];
    else type = make_type(&d, &sides->unit, plain && i % 2 == 0 && sides->unit.length == 1 ? 1 : multiple[i]);
    const long per = all * (long)sides->unit.size / (long)type->size;
    (i < 2 ? sides->send : sides->receive)[i % 2] = type;
    (i < 2 ? sides->per_send : sides->per_receive)[i % 2] = per;
    names[i] = type->name;
  }
  if (uniform) sides->mask = 0;
  sides->unit_size = all * (long)sides->unit.size;
  if (sides->mask)
    snprintf(sides->text, sizeof sides->text, "%s or %s -> %s or %s", names[0], names[1], names[2], names[3]);
  else if (strcmp(names[0], names[2]))
    snprintf(sides->text, sizeof sides->text, "%s -> %s", names[0], names[2]);
  else
    snprintf(sides->text, sizeof sides->text, "%s", names[0]);
}

long draw_units(struct draw* d, const struct sides* sides, long blocks) {
  static const struct {
    long low, high;
  } classes[] = {{0, 0}, {1, 1}, {1, 1}, {2, 9}, {2, 20}, {3, 20}, {10, 99}, {21, 500}, {100, 3000}, {1000, 40000}};
  const int pick = (int)draw_below(d, 10);
  long n = draw_between(d, classes[pick].low, classes[pick].high);
  // Sparse datatypes take much memory for few data.
  ptrdiff_t widest = sides->unit_size;
  for (int i = 0; i < 2; ++i) {
    const ptrdiff_t a = sides->send[i]->extent * sides->per_send[i], b = sides->receive[i]->extent * sides->per_receive[i];
    widest = a > widest ? a : widest;
    widest = b > widest ? b : widest;
  }
  const long most = options.most_bytes / (blocks > 0 ? blocks : 1) / widest;
  return n > most ? (most > 0 ? most : 1) : n;
}
