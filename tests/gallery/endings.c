/* Programs that end in another way than they should. */
#undef NDEBUG
#include <assert.h>
#include <signal.h>

#include "gallery.h"

CASE(no_finalize, "no finalize", 2) { (void)wrong; }
CASE(exits_with_one, "non-zero exit", 2) {
  if (wrong && rank == 1) exit(1);
}
CASE(aborts, "abort", 2) {
  if (wrong && rank == 1) MPI_Abort(WORLD, 3);
}
CASE(asserts, "assertion failure", 3) {
  int x = rank;
  if (rank > 0) {
    MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    return;
  }
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
  if (wrong) assert(x == 1);
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
}
CASE(crashes, "crash", 3) {
  static int table[4];
  int x = rank, *where = table;
  if (rank > 0) {
    MPI_Send(&x, 1, MPI_INT, 0, 0, WORLD);
    return;
  }
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
  if (wrong && x == 2) where = NULL;
  *(volatile int*)where = x;
  MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
}
CASE(kills_itself, "crash", 2) {
  if (wrong && rank == 1) raise(SIGFPE);
}

CASE(early_call, "call outside MPI", 2) {
  int n;
  if (wrong) MPI_Comm_size(WORLD, &n);
}
CASE(early_and_legal, "call outside MPI", 2) {
  int flag, n;
  MPI_Initialized(&flag);
  if (wrong) MPI_Comm_rank(WORLD, &n);
}
CASE(late_call, "call outside MPI", 2) {
  int n;
  if (wrong && rank == 1) MPI_Comm_size(WORLD, &n);
}
CASE(late_message, "call outside MPI", 2) {
  int flag;
  MPI_Finalized(&flag);
  if (wrong) {
    if (rank == 0) send_one(1);
    else receive_one();
  }
}
