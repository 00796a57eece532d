/* What a program that was compiled with `reprise cc` and the library that follows it agree on.
 *
 * Each module (the program, a shared library of it) has one of these structures. The library that follows the program writes the
 * rest of it; without that library nothing is ever passed on, and the program runs as usual. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define REPRISE_ACCESS_VERSION 1

enum reprise_atomic_kind {
  REPRISE_ATOMIC_LOAD,
  REPRISE_ATOMIC_STORE,
  REPRISE_ATOMIC_EXCHANGE,
  REPRISE_ATOMIC_ADD,
  REPRISE_ATOMIC_SUB,
  REPRISE_ATOMIC_AND,
  REPRISE_ATOMIC_OR,
  REPRISE_ATOMIC_XOR,
  REPRISE_ATOMIC_NAND,
  REPRISE_ATOMIC_COMPARE_EXCHANGE,
};

/* Whoever follows the program calls `perform` once, on the memory that others see. */
struct reprise_atomic {
  enum reprise_atomic_kind kind;
  uint32_t size;
  void* operand;  /* of `size` bytes, as are the next two */
  void* expected; /* of a comparison */
  void* before;   /* what was there */
  void (*perform)(struct reprise_atomic* one, void* memory);
};

/* Of all modules together. */
struct reprise_loads {
  uint64_t so_far;
  uint64_t next; /* the number of the one that is passed on, whatever it loads */
};

struct reprise_access {
  uint32_t version;
  /* Only accesses to addresses from here on, and less than so many bytes behind it, are passed on. */
  uintptr_t begin;
  uintptr_t span;
  /* Loads from here that find what is `others` bytes behind them are only counted: most of them do. */
  uintptr_t quick_begin;
  uintptr_t quick_span;
  uintptr_t others;
  struct reprise_loads* loads;
  void (*load)(const void* address, size_t size);            /* is about to happen */
  void (*store)(void* address, size_t size);                 /* the same */
  void (*atomic)(void* address, struct reprise_atomic* one); /* in place of it */
};

/* What `reprise` looks for in a program. */
#define REPRISE_ACCESS_MARK "reprise_access_of_this_module"
/* What modules look for when they are loaded: void reprise_access_module(struct reprise_access*). */
#define REPRISE_ACCESS_REGISTRATION "reprise_access_module"

#ifdef __cplusplus
}
#endif
