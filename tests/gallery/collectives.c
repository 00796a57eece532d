/* Collectives that do not match. */
#include "gallery.h"

CASE(barrier_and_bcast, "collective mismatch", 2) {
  int x = 1;
  if (wrong && rank == 1) MPI_Barrier(WORLD);
  else MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
}
CASE(reduce_and_allreduce, "collective mismatch", 2) {
  int x = 1, sum;
  if (wrong && rank == 1) MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, WORLD);
  else MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0, WORLD);
}
CASE(gather_and_scatter, "collective mismatch", 2) {
  int x = 1, all[2] = {0};
  if (wrong && rank == 1) MPI_Scatter(all, 1, MPI_INT, &x, 1, MPI_INT, 0, WORLD);
  else MPI_Gather(&x, 1, MPI_INT, all, 1, MPI_INT, 0, WORLD);
}
CASE(collectives_swapped, "collective mismatch", 2) {
  int x = 1, sum;
  if (wrong && rank == 1) MPI_Barrier(WORLD);
  MPI_Allreduce(&x, &sum, 1, MPI_INT, MPI_SUM, WORLD);
  if (!wrong || rank == 0) MPI_Barrier(WORLD);
}
CASE(roots_of_bcast, "collective mismatch", 2) {
  int x = 1;
  MPI_Bcast(&x, 1, MPI_INT, wrong ? rank : 0, WORLD);
}
CASE(roots_of_reduce, "collective mismatch", 3) {
  int x = 1, sum;
  MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, wrong && rank == 2 ? 1 : 0, WORLD);
}
CASE(roots_of_gather, "collective mismatch", 2) {
  int x = 1, all[2];
  MPI_Gather(&x, 1, MPI_INT, all, 1, MPI_INT, wrong ? 1 - rank : 0, WORLD);
}
CASE(roots_of_scatter, "collective mismatch", 2) {
  int x, all[2] = {1, 2};
  MPI_Scatter(all, 1, MPI_INT, &x, 1, MPI_INT, wrong ? rank : 1, WORLD);
}
CASE(operations_of_reduce, "collective mismatch", 2) {
  int x = 1, sum;
  MPI_Reduce(&x, &sum, 1, MPI_INT, wrong && rank == 1 ? MPI_MAX : MPI_SUM, 0, WORLD);
}
CASE(operations_of_allreduce, "collective mismatch", 2) {
  int x = 1, sum;
  MPI_Allreduce(&x, &sum, 1, MPI_INT, wrong && rank == 0 ? MPI_PROD : MPI_SUM, WORLD);
}
CASE(blocking_and_nonblocking, "collective mismatch", 2) {
  /* MPI 4.0, 6.12: they do not match each other. */
  MPI_Request request;
  if (wrong && rank == 1) MPI_Barrier(WORLD);
  else {
    MPI_Ibarrier(WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(nonblocking_in_other_order, "collective mismatch", 2) {
  int x = 1, y = 2;
  MPI_Request requests[2];
  if (wrong && rank == 1) {
    MPI_Ibarrier(WORLD, &requests[0]);
    MPI_Ibcast(&x, 1, MPI_INT, 0, WORLD, &requests[1]);
  } else {
    MPI_Ibcast(&y, 1, MPI_INT, 0, WORLD, &requests[0]);
    MPI_Ibarrier(WORLD, &requests[1]);
  }
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
CASE(dup_and_split, "collective mismatch", 2) {
  MPI_Comm made;
  if (wrong && rank == 1) MPI_Comm_split(WORLD, 0, 0, &made);
  else MPI_Comm_dup(WORLD, &made);
  MPI_Comm_free(&made);
}

CASE(one_is_missing, "deadlock", 3) {
  if (!wrong || rank != 2) MPI_Barrier(WORLD);
}
CASE(communicators_crossed, "deadlock", 2) {
  MPI_Comm one, other;
  MPI_Comm_dup(WORLD, &one);
  MPI_Comm_dup(WORLD, &other);
  MPI_Barrier(wrong && rank == 1 ? other : one);
  MPI_Barrier(wrong && rank == 1 ? one : other);
  MPI_Comm_free(&one);
  MPI_Comm_free(&other);
}
CASE(barrier_before_receive, "deadlock", 2) {
  int x = 1;
  if (rank == 0) {
    if (wrong) MPI_Barrier(WORLD);
    MPI_Ssend(&x, 1, MPI_INT, 1, 0, WORLD);
    if (!wrong) MPI_Barrier(WORLD);
  } else {
    receive_one();
    MPI_Barrier(WORLD);
  }
}
CASE(bcast_then_message, "deadlock", 2) {
  /* Unsafe: a broadcast may wait for those that receive it. */
  int x = 1;
  if (rank == 0) {
    MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
    MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
  } else {
    if (!wrong) MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
    receive_one();
    if (wrong) MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
  }
}
CASE(split_halves_crossed, "deadlock", 4) {
  MPI_Comm half;
  int x = 1;
  MPI_Comm_split(WORLD, rank % 2, 0, &half);
  if (wrong && rank == 3) MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
  MPI_Barrier(half);
  if (!wrong || rank != 3) MPI_Bcast(&x, 1, MPI_INT, 0, WORLD);
  MPI_Comm_free(&half);
}
