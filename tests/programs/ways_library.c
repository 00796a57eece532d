// A program whose calls come from a library of its own. Built twice, from this one file: as the library (with LIBRARY,
// and another VARIANT when it is built again), and as the program.
#include "common.h"

void exchange(void);

#ifdef LIBRARY

void exchange(void) {
  int value = 0;
#if VARIANT > 1
  if (getenv("NEVER_SET")) value += getpid();
#endif
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);  //@library
  MPI_Barrier(MPI_COMM_WORLD);
}

#else

int main(int argc, char** argv) {
  start(&argc, &argv);
  exchange();
  finish();
}

#endif
