// Random derived datatypes, each with its type map computed from the arguments of its constructors.
#ifndef SWEEP_TYPES_H
#define SWEEP_TYPES_H

#include "sweep.h"

struct basic {
  MPI_Datatype handle;
  const char* name;
  int size, align;
};
extern const struct basic basics[];
extern const int basics_count;
int find_basic(MPI_Datatype handle);

// Bytes that lie together both in memory and in the message.
struct piece {
  ptrdiff_t at;
  size_t length;
};

struct type {
  MPI_Datatype handle;
  bool predefined;
  char name[80];
  const char* form;  // with --explain, how it was made, with all arguments
  int entries;
  ptrdiff_t* at;  // the type map, in its order
  int* basic;
  int pieces;
  struct piece* piece;
  size_t size;
  ptrdiff_t lb, extent;
  ptrdiff_t low, high;  // the true bounds
  ptrdiff_t align;
  bool bounds_set;  // by MPI_Type_create_resized or the like: these bounds outlive being part of another type
};

// A few basic datatypes in a row; the datatypes of a transfer have it several times.
struct signature {
  int basic[4];
  int length;
  size_t size;
};

void draw_signature(struct draw* d, struct signature* unit);
// A committed datatype with `repeats` times the signature. No two of its items, or of the items of an array of it, overlap.
struct type* make_type(struct draw* d, const struct signature* unit, int repeats);
struct type* basic_type(int basic);

// Copies the first `bytes` of a message into `count` items at `address`.
void type_scatter(const struct type* type, unsigned char* address, const unsigned char* packed, size_t bytes);
// Where in the message the byte at `offset` from the address is, or -1 if it belongs to a hole.
long type_position(const struct type* type, long count, ptrdiff_t offset);
// The lowest and highest byte that `count` items may touch.
void type_span(const struct type* type, long count, ptrdiff_t* low, ptrdiff_t* high);

// The datatypes of both sides of a transfer of `n` units: `per_send * n` items of one, `per_receive * n` of the other.
struct sides {
  struct signature unit;
  const struct type* send[2];
  const struct type* receive[2];
  long per_send[2], per_receive[2];
  long unit_size;  // bytes of one unit
  uint64_t mask;   // which rank uses which
  char text[340];
};
// With `alike`, all ranks have the same datatypes: one for what they send, one for what they receive.
void draw_sides(struct scenario* s, struct sides* sides, bool alike);
int side_of(const struct sides* sides, uint64_t who);
// How much to transfer, as units, if there are `blocks` of it.
long draw_units(struct draw* d, const struct sides* sides, long blocks);

#endif
