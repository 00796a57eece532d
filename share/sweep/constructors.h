// What the constructors of datatypes share.
#ifndef SWEEP_CONSTRUCTORS_H
#define SWEEP_CONSTRUCTORS_H

#include "types.h"

enum { kMostParts = 256 };

struct part {
  const struct type* type;
  ptrdiff_t at;
};
struct parts {
  int count;
  struct part part[kMostParts];
};

void put(struct parts* parts, const struct type* type, ptrdiff_t at);
// The type of this handle, whose type map are these parts; `part`, if not NULL, is what they are made of.
struct type* finish(const char* name, const struct type* part, MPI_Datatype handle, const struct parts* parts);
// Adds to the text that says how a type was made.
__attribute__((format(printf, 2, 3))) const char* form(const char* text, const char* format, ...);
int divisor(struct draw* d, int n);

// arrays.c
struct type* subarray(struct draw* d, int items, const struct type* part);
struct type* darray(struct draw* d, int items, const struct type* part);

#endif
