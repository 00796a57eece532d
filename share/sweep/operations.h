// What reductions must result in: exactly, or within the rounding of any order.
#ifndef SWEEP_OPERATIONS_H
#define SWEEP_OPERATIONS_H

#include "types.h"

enum operation {
  kMax,
  kMin,
  kSum,
  kProd,
  kLand,
  kLor,
  kLxor,
  kBand,
  kBor,
  kBxor,
  kMaxloc,
  kMinloc,
  kUserCommutative,
  kUserOrdered,
  kReplace,
  kNoOp,
  kOperations
};

enum number { kSigned, kUnsigned, kReal, kComplex, kBool, kByte, kMapping };

// What is reduced element by element.
struct kind {
  MPI_Datatype handle;
  const char* name;
  enum number number;
  int size;      // of the number; of a complex one, of its parts
  int extent;    // of an element
  int index_at;  // of a pair; otherwise 0
  int align;
  bool multi;    // a multi-language type: not for logical operations
};

struct reduction {
  enum operation operation;
  const struct kind* kind;  // NULL for user-defined operations, whose elements are pairs in a datatype
  const struct type* type;
  MPI_Op op;
  bool op_created;
  int per_item;  // elements in an item of the datatype
  bool whole;    // real numbers are small whole numbers: exact in any order
  char text[200];
};

// What one process contributes to one element.
struct source {
  uint64_t key;  // of the data
  uint64_t id;   // of the process
  int group;     // how many contribute
  int position;  // of the process among them
};

void draw_reduction(struct scenario* s, struct reduction* r);
// With operations that are legal for MPI_Accumulate only: predefined ones, on predefined types.
void draw_accumulation(struct scenario* s, struct reduction* r, bool fetches);
bool make_operation(struct scenario* s, struct reduction* r);
void free_operation(struct reduction* r);
void put_value(const struct reduction* r, struct source from, long element, unsigned char* address);
// Whether the element is the reduction of all sources, in their order. Says so in `text` if not.
bool is_reduced(const struct reduction* r, const struct source* from, int count, long element, const unsigned char* address,
                char* text, size_t room);
// The bytes of an element: up to two pieces. Returns how many.
int element_pieces(const struct reduction* r, long element, struct piece* pieces);

#endif
