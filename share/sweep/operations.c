#include "operations.h"

#include <complex.h>
#include <float.h>
#include <math.h>

#define PAIR(T)        \
  struct {             \
    T value;           \
    int index;         \
  }
typedef PAIR(float) float_int;
typedef PAIR(double) double_int;
typedef PAIR(long) long_int;
typedef PAIR(int) int_int;
typedef PAIR(short) short_int;
typedef PAIR(long double) long_double_int;

#define NUMBER(handle, number, T) {handle, #handle, number, sizeof(T), sizeof(T), 0, _Alignof(T), false}
#define MULTI(handle, T) {handle, #handle, kSigned, sizeof(T), sizeof(T), 0, _Alignof(T), true}
#define COMPLEX(handle, T) {handle, #handle, kComplex, sizeof(T) / 2, sizeof(T), 0, _Alignof(T), false}
#define PAIRED(handle, number, T, P) {handle, #handle, number, sizeof(T), sizeof(P), offsetof(P, index), _Alignof(P), false}
static const struct kind kinds[] = {
    NUMBER(MPI_SIGNED_CHAR, kSigned, signed char),
    NUMBER(MPI_UNSIGNED_CHAR, kUnsigned, unsigned char),
    NUMBER(MPI_SHORT, kSigned, short),
    NUMBER(MPI_UNSIGNED_SHORT, kUnsigned, unsigned short),
    NUMBER(MPI_INT, kSigned, int),
    NUMBER(MPI_UNSIGNED, kUnsigned, unsigned),
    NUMBER(MPI_LONG, kSigned, long),
    NUMBER(MPI_UNSIGNED_LONG, kUnsigned, unsigned long),
    NUMBER(MPI_LONG_LONG, kSigned, long long),
    NUMBER(MPI_UNSIGNED_LONG_LONG, kUnsigned, unsigned long long),
    NUMBER(MPI_INT8_T, kSigned, int8_t),
    NUMBER(MPI_INT16_T, kSigned, int16_t),
    NUMBER(MPI_INT32_T, kSigned, int32_t),
    NUMBER(MPI_INT64_T, kSigned, int64_t),
    NUMBER(MPI_UINT8_T, kUnsigned, uint8_t),
    NUMBER(MPI_UINT16_T, kUnsigned, uint16_t),
    NUMBER(MPI_UINT32_T, kUnsigned, uint32_t),
    NUMBER(MPI_UINT64_T, kUnsigned, uint64_t),
    MULTI(MPI_AINT, MPI_Aint),
    MULTI(MPI_OFFSET, MPI_Offset),
    MULTI(MPI_COUNT, MPI_Count),
    NUMBER(MPI_FLOAT, kReal, float),
    NUMBER(MPI_DOUBLE, kReal, double),
    NUMBER(MPI_LONG_DOUBLE, kReal, long double),
    COMPLEX(MPI_C_FLOAT_COMPLEX, float _Complex),
    COMPLEX(MPI_C_DOUBLE_COMPLEX, double _Complex),
    COMPLEX(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex),
    NUMBER(MPI_C_BOOL, kBool, _Bool),
    NUMBER(MPI_BYTE, kByte, char),
    PAIRED(MPI_FLOAT_INT, kReal, float, float_int),
    PAIRED(MPI_DOUBLE_INT, kReal, double, double_int),
    PAIRED(MPI_LONG_INT, kSigned, long, long_int),
    PAIRED(MPI_2INT, kSigned, int, int_int),
    PAIRED(MPI_SHORT_INT, kSigned, short, short_int),
    PAIRED(MPI_LONG_DOUBLE_INT, kReal, long double, long_double_int),
};
enum { kKinds = sizeof kinds / sizeof kinds[0] };

static const char* const operation_names[] = {"MPI_MAX", "MPI_MIN",  "MPI_SUM", "MPI_PROD", "MPI_LAND",   "MPI_LOR",
                                              "MPI_LXOR", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_MAXLOC", "MPI_MINLOC",
                                              "a commutative operation", "a non-commutative operation", "MPI_REPLACE",
                                              "MPI_NO_OP"};

// MPI 3.1, 5.9.2 and 5.9.4
static bool legal(enum operation o, const struct kind* k) {
  const bool integer = (k->number == kSigned || k->number == kUnsigned) && !k->index_at;
  if (o >= kReplace) return true;
  if (o == kMaxloc || o == kMinloc) return k->index_at > 0;
  if (k->index_at) return false;
  if (o == kMax || o == kMin) return integer || k->number == kReal;
  if (o == kSum || o == kProd) return integer || k->number == kReal || k->number == kComplex;
  if (o <= kLxor) return (integer && !k->multi) || k->number == kBool;
  return integer || k->number == kByte;
}

static void draw_legal(struct draw* d, struct reduction* r, int extras) {
  static const enum operation extra[] = {kReplace, kNoOp};
  do {
    r->kind = &kinds[draw_below(d, kKinds)];
    r->operation = (enum operation)draw_below(d, kUserCommutative);
    if (extras > 0 && draw_chance(d, 20)) r->operation = extra[draw_below(d, extras)];
  } while (!legal(r->operation, r->kind));
  struct type* type = KEEP(struct type, 1);
  type->handle = r->kind->handle;
  type->predefined = true;
  type->entries = type->pieces = 1;
  type->at = KEEP(ptrdiff_t, 1);
  type->piece = KEEP(struct piece, 1);
  type->piece[0].length = type->size = (size_t)r->kind->extent;
  type->extent = type->high = r->kind->extent;
  type->align = r->kind->align;
  r->type = type;
  r->per_item = 1;
  r->whole = draw_chance(d, 50);
  snprintf(r->text, sizeof r->text, "%s, %s", operation_names[r->operation], r->kind->name);
}

void draw_accumulation(struct scenario* s, struct reduction* r, bool fetches) { draw_legal(&s->draw, r, fetches ? 2 : 1); }

void draw_reduction(struct scenario* s, struct reduction* r) {
  struct draw* d = &s->draw;
  if (draw_chance(d, 70)) {
    draw_legal(d, r, 0);
    return;
  }
  // Pairs of numbers, in a datatype of any kind.
  r->operation = draw_chance(d, 50) ? kUserOrdered : kUserCommutative;
  const int number = find_basic(MPI_UINT32_T);
  const struct signature unit = {{number, number, 0, 0}, 2, 8};
  r->per_item = (int)draw_between(d, 1, 9);
  struct draw own = {mix(s->key, 100)};
  r->type = make_type(&own, &unit, r->per_item);
  snprintf(r->text, sizeof r->text, "%s, %s", operation_names[r->operation], r->type->name);
}

static const struct type* user_type;  // of the operation at hand; MPI gives its handle only

// Maps x to a * x + b: to apply one after the other is associative, but not commutative.
static void combine(bool ordered, uint32_t* a, uint32_t* b, uint32_t a2, uint32_t b2) {
  *b = ordered ? *a * b2 + *b : *b * b2;
  *a = ordered ? *a * a2 : *a + a2;
}

static uint32_t load(const unsigned char* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return value;
}

static void user_operation(bool ordered, const unsigned char* in, unsigned char* inout, MPI_Count length) {
  for (MPI_Count i = 0; i < length; ++i, in += user_type->extent, inout += user_type->extent) {
    for (int k = 0; k < user_type->entries; k += 2) {
      const ptrdiff_t x = user_type->at[k], y = user_type->at[k + 1];
      uint32_t a = load(in + x), b = load(in + y);
      combine(ordered, &a, &b, load(inout + x), load(inout + y));
      memcpy(inout + x, &a, sizeof a);
      memcpy(inout + y, &b, sizeof b);
    }
  }
}

static void ordered_operation(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  user_operation(true, in, inout, *length);
}
static void commutative_operation(void* in, void* inout, int* length, MPI_Datatype* type) {
  (void)type;
  user_operation(false, in, inout, *length);
}
#if MPI_VERSION >= 4
static void ordered_operation_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  (void)type;
  user_operation(true, in, inout, *length);
}
static void commutative_operation_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  (void)type;
  user_operation(false, in, inout, *length);
}
#endif

bool make_operation(struct scenario* s, struct reduction* r) {
  const MPI_Op predefined[] = {MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_LOR,     MPI_LXOR,    MPI_BAND,
                               MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_OP_NULL, MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP};
  r->op = predefined[r->operation];
  if (r->op != MPI_OP_NULL) return true;
  const bool ordered = r->operation == kUserOrdered;
  user_type = r->type;
  r->op_created = true;
#if MPI_VERSION >= 4
  if (s->large) return DO(MPI_Op_create_c(ordered ? ordered_operation_c : commutative_operation_c, !ordered, &r->op));
#endif
  (void)s;
  return DO(MPI_Op_create(ordered ? ordered_operation : commutative_operation, !ordered, &r->op));
}

void free_operation(struct reduction* r) {
  if (r->op_created && r->op != MPI_OP_NULL) MPI_Op_free(&r->op);
}

struct value {
  uint64_t bits;         // an integer, sign-extended
  long double re, im;    // a real or complex number
  long double size;      // for the error bound: sum or product of absolute values, or more
  int index;
  uint32_t a, b;
};

static uint64_t narrow(const struct kind* k, uint64_t bits) {
  if (k->size >= 8) return bits;
  const int unused = 64 - 8 * k->size;
  return k->number == kSigned ? (uint64_t)((int64_t)(bits << unused) >> unused) : bits << unused >> unused;
}

// Never so great that a sum or product overflows: the standard does not say what that results in.
static uint64_t integer_value(const struct reduction* r, struct source from, uint64_t h, bool chosen) {
  const struct kind* k = r->kind;
  const uint64_t low = h >> 32;
  switch (r->operation) {
    case kSum: {
      const uint64_t most = ((1ull << (8 * (k->size < 6 ? k->size : 6) - 1)) - 1) / (uint64_t)from.group;
      if (k->number == kSigned) return h % (2 * most + 1) - most;
      return h % (2 * most + 1);
    }
    case kProd:
      if (k->number == kSigned) return chosen ? h % 201 - 100 : h % 2 ? 1 : (uint64_t)-1;
      return chosen ? h % 201 : 1;
    case kLand: return k->number == kBool ? (chosen ? h % 2 : 1) : (chosen && h % 2) ? 0 : (low | 1);
    case kLor: return k->number == kBool ? chosen && h % 2 : (chosen && h % 2) ? (low | 1) : 0;
    case kLxor: return k->number == kBool ? h % 2 : h % 2 ? (low | 1) : 0;
    case kBand: return h | scramble(h);
    case kMaxloc:
    case kMinloc: return low % 5 - 2;
    default: return k->number == kBool ? h % 2 : h;
  }
}

static long double real_value(const struct reduction* r, uint64_t h) {
  const long double fraction = (long double)(h >> 40) / (1 << 24);
  if (r->operation == kMaxloc || r->operation == kMinloc) return (long double)(h >> 32) - (long double)((h >> 32) / 5 * 5);
  if (r->operation == kProd) return (h & 1 ? 1 : -1) * (r->whole ? (long double)(1 + h / 2 % 2) : 0.5L + fraction);
  return r->whole ? (long double)(h % 2001) - 1000 : 2 * fraction - 1;
}

static struct value value_of(const struct reduction* r, struct source from, long element) {
  struct value v = {0};
  const uint64_t h = mix(mix(from.key, from.id), (uint64_t)element);
  const bool chosen = mix(from.key, (uint64_t)element) % (uint64_t)from.group == (uint64_t)from.position;
  if (!r->kind) {
    v.a = (uint32_t)h | 1;
    v.b = (uint32_t)(h >> 32) | 1;
    return v;
  }
  const enum number number = r->kind->number;
  if (number == kReal || number == kComplex) {
    v.re = real_value(r, h);
    if (number == kComplex) v.im = real_value(r, scramble(h));
    // As the type can hold it.
    if (r->kind->size == sizeof(float)) v.re = (float)v.re, v.im = (float)v.im;
    else if (r->kind->size == sizeof(double)) v.re = (double)v.re, v.im = (double)v.im;
    v.size = fabsl(v.re) + fabsl(v.im);
  } else {
    v.bits = narrow(r->kind, integer_value(r, from, h, chosen));
  }
  v.index = (int)(h % 100);
  return v;
}

static void store_real(int size, long double value, unsigned char* at) {
  const float f = (float)value;
  const double d = (double)value;
  if (size == sizeof f) memcpy(at, &f, sizeof f);
  else if (size == sizeof d) memcpy(at, &d, sizeof d);
  else memcpy(at, &value, sizeof value);
}
static long double load_real(int size, const unsigned char* at) {
  float f;
  double d;
  long double value;
  if (size == sizeof f) return memcpy(&f, at, sizeof f), (long double)f;
  if (size == sizeof d) return memcpy(&d, at, sizeof d), (long double)d;
  return memcpy(&value, at, sizeof value), value;
}

static void store_bits(int size, uint64_t bits, unsigned char* at) {
  const uint8_t b1 = (uint8_t)bits;
  const uint16_t b2 = (uint16_t)bits;
  const uint32_t b4 = (uint32_t)bits;
  memcpy(at, size == 1 ? (const void*)&b1 : size == 2 ? (const void*)&b2 : size == 4 ? (const void*)&b4 : &bits, (size_t)size);
}
static uint64_t load_bits(const struct kind* k, const unsigned char* at) {
  uint8_t b1;
  uint16_t b2;
  uint32_t b4;
  uint64_t bits;
  if (k->size == 1) return memcpy(&b1, at, 1), narrow(k, b1);
  if (k->size == 2) return memcpy(&b2, at, 2), narrow(k, b2);
  if (k->size == 4) return memcpy(&b4, at, 4), narrow(k, b4);
  return memcpy(&bits, at, 8), bits;
}

int element_pieces(const struct reduction* r, long element, struct piece* pieces) {
  const ptrdiff_t item = element / r->per_item * r->type->extent;
  if (r->kind) {
    pieces[0] = (struct piece){item + r->type->at[element % r->per_item], (size_t)r->kind->extent};
    return 1;
  }
  for (int i = 0; i < 2; ++i)
    pieces[i] = (struct piece){item + r->type->at[element % r->per_item * 2 + i], sizeof(uint32_t)};
  return 2;
}

void put_value(const struct reduction* r, struct source from, long element, unsigned char* address) {
  const struct value v = value_of(r, from, element);
  struct piece pieces[2];
  element_pieces(r, element, pieces);
  unsigned char* at = address + pieces[0].at;
  if (!r->kind) {
    memcpy(at, &v.a, sizeof v.a);
    memcpy(address + pieces[1].at, &v.b, sizeof v.b);
    return;
  }
  const struct kind* k = r->kind;
  if (k->number == kReal || k->number == kComplex) store_real(k->size, v.re, at);
  else store_bits(k->size, v.bits, at);
  if (k->number == kComplex) store_real(k->size, v.im, at + k->size);
  if (k->index_at) memcpy(at + k->index_at, &v.index, sizeof v.index);
}

static int compare(const struct kind* k, const struct value* x, const struct value* y) {
  if (k->number == kReal) return (x->re > y->re) - (x->re < y->re);
  if (k->number == kSigned) return ((int64_t)x->bits > (int64_t)y->bits) - ((int64_t)x->bits < (int64_t)y->bits);
  return (x->bits > y->bits) - (x->bits < y->bits);
}

static void accumulate(const struct reduction* r, struct value* x, const struct value* y) {
  const struct kind* k = r->kind;
  if (!k) {
    combine(r->operation == kUserOrdered, &x->a, &x->b, y->a, y->b);
    return;
  }
  const int order = compare(k, x, y);
  const long double re = x->re;
  switch (r->operation) {
    case kMax:
      if (order < 0) *x = *y;
      break;
    case kMin:
      if (order > 0) *x = *y;
      break;
    case kMaxloc:
    case kMinloc:  // of equal values the lowest index
      if (r->operation == kMaxloc ? order < 0 : order > 0) *x = *y;
      else if (order == 0 && y->index < x->index) x->index = y->index;
      break;
    case kSum:
      x->bits += y->bits;
      x->re += y->re;
      x->im += y->im;
      x->size += y->size;
      break;
    case kProd:
      x->bits *= y->bits;
      x->re = re * y->re - x->im * y->im;
      x->im = re * y->im + x->im * y->re;
      x->size *= y->size;
      break;
    case kLand: x->bits = x->bits && y->bits; break;
    case kLor: x->bits = x->bits || y->bits; break;
    case kLxor: x->bits = !x->bits != !y->bits; break;
    case kBand: x->bits &= y->bits; break;
    case kBor: x->bits |= y->bits; break;
    case kBxor: x->bits ^= y->bits; break;
    default: *x = *y;
  }
  x->bits = narrow(k, x->bits);
}

bool is_reduced(const struct reduction* r, const struct source* from, int count, long element, const unsigned char* address,
                char* text, size_t room) {
  struct value want = value_of(r, from[0], element);
  for (int i = 1; i < count; ++i) {
    const struct value next = value_of(r, from[i], element);
    accumulate(r, &want, &next);
  }
  struct piece pieces[2];
  element_pieces(r, element, pieces);
  const unsigned char* at = address + pieces[0].at;
  if (!r->kind) {
    const uint32_t a = load(at), b = load(address + pieces[1].at);
    snprintf(text, room, "is (%u, %u), should be (%u, %u)", a, b, want.a, want.b);
    return a == want.a && b == want.b;
  }
  const struct kind* k = r->kind;
  int index = 0;
  if (k->index_at) memcpy(&index, at + k->index_at, sizeof index);
  const bool same_index = !k->index_at || index == want.index;
  if (k->number == kReal || k->number == kComplex) {
    const long double re = load_real(k->size, at), im = k->number == kComplex ? load_real(k->size, at + k->size) : 0;
    const long double epsilon = k->size == sizeof(float) ? FLT_EPSILON : k->size == sizeof(double) ? DBL_EPSILON : LDBL_EPSILON;
    const bool rounds = (r->operation == kSum || r->operation == kProd) && count > 1 &&
                        !(r->whole && r->operation == kSum);
    const long double bound = rounds ? (k->number == kComplex ? 8 : 2) * count * epsilon * want.size : 0;
    snprintf(text, room, "is (%Lg, %Lg; %d), should be (%Lg, %Lg; %d)", re, im, index, want.re, want.im, want.index);
    return fabsl(re - want.re) <= bound && fabsl(im - want.im) <= bound && same_index;
  }
  const uint64_t bits = load_bits(k, at);
  if (k->number == kSigned)
    snprintf(text, room, "is %lld (%d), should be %lld (%d)", (long long)bits, index, (long long)want.bits, want.index);
  else snprintf(text, room, "is %llu, should be %llu", (unsigned long long)bits, (unsigned long long)want.bits);
  return bits == want.bits && same_index;
}
