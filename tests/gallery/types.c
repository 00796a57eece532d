/* What is sent and what is expected: sizes and types. */
#include "gallery.h"

#define RECEIVE(BUFFER, COUNT, TYPE) MPI_Recv(BUFFER, COUNT, TYPE, 0, 0, WORLD, MPI_STATUS_IGNORE)

CASE(receive_too_small, "truncation", 2) {
  int x[4] = {1, 2, 3, 4};
  if (rank == 0) MPI_Send(x, 4, MPI_INT, 1, 0, WORLD);
  else RECEIVE(x, wrong ? 3 : 4, MPI_INT);
}
CASE(irecv_too_small, "truncation", 2) {
  int x[4] = {1, 2, 3, 4};
  MPI_Request request;
  if (rank == 0) MPI_Send(x, 4, MPI_INT, 1, 0, WORLD);
  else {
    MPI_Irecv(x, wrong ? 2 : 8 / 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(sendrecv_too_small, "truncation", 2) {
  int x[2] = {1, 2}, y[2];
  MPI_Sendrecv(x, 2, MPI_INT, 1 - rank, 0, y, wrong ? 1 : 2, MPI_INT, 1 - rank, 0, WORLD, MPI_STATUS_IGNORE);
}
CASE(mrecv_too_small, "truncation", 2) {
  int x[2] = {1, 2};
  MPI_Message message;
  if (rank == 0) MPI_Send(x, 2, MPI_INT, 1, 0, WORLD);
  else {
    MPI_Mprobe(0, 0, WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(x, wrong ? 1 : 2, MPI_INT, &message, MPI_STATUS_IGNORE);
  }
}
CASE(persistent_too_small, "truncation", 2) {
  int x[2] = {1, 2};
  MPI_Request request;
  if (rank == 0) MPI_Send(x, 2, MPI_INT, 1, 0, WORLD);
  else {
    MPI_Recv_init(x, wrong ? 1 : 2, MPI_INT, 0, 0, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}
CASE(too_small_in_one_order, "truncation", 3) {
  /* Rank 2's message is longer; it is a mistake only if it is the second. */
  int x[2] = {1, 2}, count = 2;
  if (rank > 0) MPI_Send(x, rank, MPI_INT, 0, 0, WORLD);
  else {
    MPI_Recv(x, count, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(x, wrong ? 1 : 2, MPI_INT, MPI_ANY_SOURCE, 0, WORLD, MPI_STATUS_IGNORE);
  }
}

CASE(int_as_float, "type mismatch", 2) {
  int x = 1;
  float y;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
  else if (wrong) RECEIVE(&y, 1, MPI_FLOAT);
  else RECEIVE(&x, 1, MPI_INT);
}
CASE(double_as_long, "type mismatch", 2) {
  double x = 1;
  if (rank == 0) MPI_Ssend(&x, 1, MPI_DOUBLE, 1, 0, WORLD);
  else RECEIVE(&x, 1, wrong ? MPI_LONG : MPI_DOUBLE);
}
CASE(int_as_unsigned, "type mismatch", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
  else RECEIVE(&x, 1, wrong ? MPI_UNSIGNED : MPI_INT);
}
CASE(ints_as_one_long, "type mismatch", 2) {
  int x[2] = {1, 2};
  if (rank == 0) MPI_Send(x, 2, MPI_INT, 1, 0, WORLD);
  else RECEIVE(x, wrong ? 1 : 2, wrong ? MPI_LONG : MPI_INT);
}
CASE(int_as_bytes, "type mismatch", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, wrong ? 1 : (int)sizeof x, wrong ? MPI_INT : MPI_BYTE, 1, 0, WORLD);
  else RECEIVE(&x, sizeof x, MPI_BYTE);
}
static MPI_Datatype mixed(int int_first) {
  MPI_Datatype type, types[2] = {int_first ? MPI_INT : MPI_FLOAT, int_first ? MPI_FLOAT : MPI_INT};
  int lengths[2] = {1, 1};
  MPI_Aint places[2] = {0, 4};
  MPI_Type_create_struct(2, lengths, places, types, &type);
  MPI_Type_commit(&type);
  return type;
}
CASE(struct_in_other_order, "type mismatch", 2) {
  struct {
    int i;
    float f;
  } x[3] = {{1, 1}, {2, 2}, {3, 3}};
  MPI_Datatype type = mixed(!wrong || rank == 0);
  if (rank == 0) MPI_Send(x, 3, type, 1, 0, WORLD);
  else RECEIVE(x, 3, type);
  MPI_Type_free(&type);
}
CASE(struct_as_ints, "type mismatch", 2) {
  int x[6] = {0};
  MPI_Datatype type = mixed(1);
  if (rank == 0) MPI_Send(x, 3, type, 1, 0, WORLD);
  else if (wrong) RECEIVE(x, 6, MPI_INT);
  else RECEIVE(x, 3, type);
  MPI_Type_free(&type);
}
CASE(vector_of_other_type, "type mismatch", 2) {
  /* Right: a strided vector of integers fits a row of integers. */
  int x[8] = {0};
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 2, wrong ? MPI_FLOAT : MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) MPI_Send(x, 1, column, 1, 0, WORLD);
  else RECEIVE(x, 4, MPI_INT);
  MPI_Type_free(&column);
}
CASE(irecv_of_other_type, "type mismatch", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, WORLD);
  else {
    MPI_Irecv(&x, 1, wrong ? MPI_FLOAT : MPI_INT, 0, 0, WORLD, &request);
    MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
  }
}
CASE(sendrecv_of_other_type, "type mismatch", 2) {
  int x = 1, y;
  MPI_Sendrecv(&x, 1, wrong && rank == 0 ? MPI_FLOAT : MPI_INT, 1 - rank, 0, &y, 1, MPI_INT, 1 - rank, 0, WORLD,
               MPI_STATUS_IGNORE);
}
CASE(persistent_of_other_type, "type mismatch", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) MPI_Send_init(&x, 1, wrong ? MPI_FLOAT : MPI_INT, 1, 0, WORLD, &request);
  else MPI_Recv_init(&x, 1, MPI_INT, 0, 0, WORLD, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}
CASE(packed_fits_everything, "type mismatch", 2) {
  int x = 1, place = 0;
  char packed[64];
  if (rank == 0) {
    MPI_Pack(&x, 1, MPI_INT, packed, sizeof packed, &place, WORLD);
    MPI_Send(packed, place, wrong ? MPI_CHAR : MPI_PACKED, 1, 0, WORLD);
  } else {
    RECEIVE(&x, 1, MPI_INT);
  }
}
CASE(other_type_in_one_order, "type mismatch", 3) {
  int x = 1;
  if (rank > 0) MPI_Send(&x, 1, rank == 1 ? MPI_INT : MPI_FLOAT, 0, wrong ? 0 : rank, WORLD);
  else {
    MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, wrong ? 0 : 1, WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(&x, 1, MPI_FLOAT, MPI_ANY_SOURCE, wrong ? 0 : 2, WORLD, MPI_STATUS_IGNORE);
  }
}

CASE(bcast_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2};
  MPI_Bcast(x, wrong && rank == 1 ? 1 : 2, MPI_INT, 0, WORLD);
}
CASE(bcast_expects_more, "collective type mismatch", 3) {
  int x[2] = {1, 2};
  MPI_Bcast(x, wrong && rank == 2 ? 2 : 1, MPI_INT, 0, WORLD);
}
CASE(bcast_types_differ, "collective type mismatch", 2) {
  int x = 1;
  MPI_Bcast(&x, 1, wrong && rank == 1 ? MPI_FLOAT : MPI_INT, 0, WORLD);
}
CASE(bcast_pairs_of_ints, "collective type mismatch", 2) {
  /* Right: counts and types differ, signatures do not. */
  int x[2] = {1, 2};
  MPI_Datatype pair;
  MPI_Type_contiguous(2, wrong ? MPI_FLOAT : MPI_INT, &pair);
  MPI_Type_commit(&pair);
  if (rank == 0) MPI_Bcast(x, 2, MPI_INT, 0, WORLD);
  else MPI_Bcast(x, 1, pair, 0, WORLD);
  MPI_Type_free(&pair);
}
CASE(gather_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, all[4];
  MPI_Gather(x, wrong && rank == 1 ? 2 : 1, MPI_INT, all, 1, MPI_INT, 0, WORLD);
}
CASE(gatherv_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, all[4], counts[2] = {1, wrong ? 1 : 2}, places[2] = {0, 1};
  MPI_Gatherv(x, rank + 1, MPI_INT, all, counts, places, MPI_INT, 0, WORLD);
}
CASE(scatter_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, all[4] = {1, 2, 3, 4};
  MPI_Scatter(all, 2, MPI_INT, x, wrong && rank == 1 ? 1 : 2, MPI_INT, 0, WORLD);
}
CASE(allgather_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, all[4];
  MPI_Allgather(x, wrong ? 2 : 1, MPI_INT, all, 1, MPI_INT, WORLD);
}
CASE(allgather_types_differ, "collective type mismatch", 2) {
  int x = 1, all[2];
  MPI_Allgather(&x, 1, MPI_INT, all, 1, wrong ? MPI_FLOAT : MPI_INT, WORLD);
}
CASE(alltoall_counts_differ, "collective type mismatch", 2) {
  int x[4] = {1, 2, 3, 4}, y[4];
  int n = wrong && rank == 1 ? 2 : 1;
  MPI_Alltoall(x, n, MPI_INT, y, n, MPI_INT, WORLD);
}
CASE(alltoallv_counts_differ, "collective type mismatch", 2) {
  int x[4] = {1, 2, 3, 4}, y[4], sent[2] = {1, wrong && rank == 0 ? 2 : 1}, taken[2] = {1, 1}, places[2] = {0, 2};
  MPI_Alltoallv(x, sent, places, MPI_INT, y, taken, places, MPI_INT, WORLD);
}
CASE(reduce_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, sum[2];
  MPI_Reduce(x, sum, wrong && rank == 1 ? 1 : 2, MPI_INT, MPI_SUM, 0, WORLD);
}
CASE(allreduce_types_differ, "collective type mismatch", 2) {
  int x = 1, sum;
  MPI_Allreduce(&x, &sum, 1, wrong && rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, WORLD);
}
CASE(scan_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, sum[2];
  MPI_Scan(x, sum, wrong && rank == 0 ? 1 : 2, MPI_INT, MPI_SUM, WORLD);
}
CASE(ibcast_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2};
  MPI_Request request;
  MPI_Ibcast(x, wrong && rank == 1 ? 1 : 2, MPI_INT, 0, WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(iallreduce_counts_differ, "collective type mismatch", 2) {
  int x[2] = {1, 2}, sum[2];
  MPI_Request request;
  MPI_Iallreduce(x, sum, wrong && rank == 1 ? 1 : 2, MPI_INT, MPI_MAX, WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(neighbour_counts_differ, "collective type mismatch", 2) {
  MPI_Comm ring;
  int dims[1] = {2}, periods[1] = {1}, x[2] = {1, 2}, y[4];
  MPI_Cart_create(WORLD, 1, dims, periods, 0, &ring);
  MPI_Neighbor_allgather(x, wrong && rank == 0 ? 2 : 1, MPI_INT, y, 1, MPI_INT, ring);
  MPI_Comm_free(&ring);
}
