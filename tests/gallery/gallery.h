/* Small programs that are wrong in one way each, and their correct twins: the same program with `wrong` = 0.

   A case says in which category `reprise explore` must put what is wrong, and how many ranks show it. */
#ifndef GALLERY_H
#define GALLERY_H

#include <mpi.h>
#include <stdlib.h>

struct gallery_case {
  const char* name;
  const char* category;
  int ranks;
  void (*run)(int wrong);
  const struct gallery_case* next;
};
void gallery_add(struct gallery_case* one);

extern int rank, size; /* in MPI_COMM_WORLD */

#define CASE(NAME, CATEGORY, RANKS)                                              \
  static void NAME(int wrong);                                                   \
  static struct gallery_case case_##NAME = {#NAME, CATEGORY, RANKS, NAME, NULL}; \
  __attribute__((constructor)) static void add_##NAME(void) {                    \
    gallery_add(&case_##NAME);                                                   \
  }                                                                              \
  static void NAME(int wrong)

#define WORLD MPI_COMM_WORLD

/* A message from rank 0 to rank 1, as it should be. */
static inline void send_one(int value) { MPI_Send(&value, 1, MPI_INT, 1, 0, WORLD); }
static inline int receive_one(void) {
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
  return value;
}

#endif
