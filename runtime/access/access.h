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

/* Of all modules together. Where the program has more than one thread, modules change nothing of it. */
struct reprise_state {
  uint64_t loads;     /* so far */
  uint64_t next_load; /* the number of the one that is passed on, whatever it loads */
  uintptr_t waiting;  /* a store that is not published yet; 0: none */
  uint64_t waiting_size;
  uint64_t idle; /* hooks since the last store that were nobody's */
};

/* So many hooks that were nobody's after the last store, only what is followed is looked at again. */
#define REPRISE_IDLE 64

enum reprise_quick_stores {
  REPRISE_STORES_ARE_PASSED_ON,
  REPRISE_STORES_WAIT,
  REPRISE_STORES_ARE_NOBODYS,
};

struct reprise_access {
  uint32_t version;
  uint32_t quick_stores; /* in quick memory */
  /* Only accesses to addresses from here on, and less than so many bytes behind it, are looked at: to memory that is followed, or, while
   * a store waits, to any. */
  uintptr_t begin;
  uintptr_t span;
  uintptr_t followed_begin;
  uintptr_t followed_span;
  /* Part of it: loads that find the same `others` bytes behind them are only counted, and most do. Stores wait for the next hook, which
   * copies them there, and to where both copies agreed. */
  uintptr_t quick_begin;
  uintptr_t quick_span;
  uintptr_t others;
  uintptr_t agreed;
  struct reprise_state* state;
  void (*load)(const void* address, size_t size);            /* is about to happen */
  void (*store)(void* address, size_t size);                 /* the same */
  void (*atomic)(void* address, struct reprise_atomic* one); /* in place of it */
};

/* What `reprise` looks for in a program. */
#define REPRISE_ACCESS_MARK "reprise_access_of_this_module"
/* What modules look for when they are loaded: void reprise_access_module(struct reprise_access*). */
#define REPRISE_ACCESS_REGISTRATION "reprise_access_module"
/* The same, when they go. */
#define REPRISE_ACCESS_END "reprise_access_module_gone"

#ifdef __cplusplus
}
#endif
