/* Arguments that MPI does not allow. */
#include "gallery.h"

#define RECEIVE(BUFFER, COUNT, TYPE, SOURCE, TAG) MPI_Recv(BUFFER, COUNT, TYPE, SOURCE, TAG, WORLD, MPI_STATUS_IGNORE)

CASE(dest_too_large, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, wrong ? 2 : 1, 0, WORLD);
  else receive_one();
}
CASE(dest_negative, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Ssend(&x, 1, MPI_INT, wrong ? -17 : 1, 0, WORLD);
  else receive_one();
}
CASE(dest_any_source, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, wrong ? MPI_ANY_SOURCE : 1, 0, WORLD);
  else receive_one();
}
CASE(source_too_large, "invalid argument", 2) {
  int x;
  if (rank == 0) send_one(1);
  else RECEIVE(&x, 1, MPI_INT, wrong ? 5 : 0, 0);
}
CASE(tag_negative, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, wrong ? -77 : 0, WORLD);
  else receive_one();
}
CASE(tag_any_when_sending, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, wrong ? MPI_ANY_TAG : 0, WORLD);
  else receive_one();
}
CASE(tag_negative_when_receiving, "invalid argument", 2) {
  int x;
  if (rank == 0) send_one(1);
  else RECEIVE(&x, 1, MPI_INT, 0, wrong ? -99 : MPI_ANY_TAG);
}
CASE(count_negative, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, wrong ? -1 : 1, MPI_INT, 1, 0, WORLD);
  else receive_one();
}
CASE(count_negative_when_receiving, "invalid argument", 2) {
  int x;
  if (rank == 0) send_one(1);
  else RECEIVE(&x, wrong ? -1 : 1, MPI_INT, 0, 0);
}
CASE(buffer_null, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(wrong ? NULL : &x, 1, MPI_INT, 1, 0, WORLD);
  else receive_one();
}
CASE(buffer_null_when_receiving, "invalid argument", 2) {
  int x;
  if (rank == 0) send_one(1);
  else RECEIVE(wrong ? NULL : &x, 1, MPI_INT, 0, 0);
}
CASE(buffer_null_but_nothing_sent, "invalid argument", 2) {
  /* Right: there is nothing to be read. */
  if (rank == 0) MPI_Send(NULL, wrong ? 1 : 0, MPI_INT, 1, 0, WORLD);
  else {
    int x;
    RECEIVE(&x, 1, MPI_INT, 0, 0);
  }
}
CASE(type_null, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, wrong ? MPI_DATATYPE_NULL : MPI_INT, 1, 0, WORLD);
  else receive_one();
}
CASE(type_not_committed, "invalid argument", 2) {
  int x[2] = {1, 2};
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  if (!wrong) MPI_Type_commit(&pair);
  if (rank == 0) MPI_Send(x, 1, pair, 1, 0, WORLD);
  else RECEIVE(x, 2, MPI_INT, 0, 0);
  MPI_Type_free(&pair);
}
CASE(type_not_committed_in_collective, "invalid argument", 2) {
  int x[2] = {1, 2};
  MPI_Datatype pair;
  MPI_Type_vector(2, 1, 1, MPI_INT, &pair);
  if (!wrong || rank == 0) MPI_Type_commit(&pair);
  MPI_Bcast(x, 1, pair, 0, WORLD);
  MPI_Type_free(&pair);
}
CASE(type_freed, "invalid argument", 2) {
  int x[2] = {1, 2};
  MPI_Datatype pair, copy;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  copy = pair;
  if (wrong) MPI_Type_free(&pair);
  if (rank == 0) MPI_Send(x, 1, copy, 1, 0, WORLD);
  else RECEIVE(x, 2, MPI_INT, 0, 0);
  if (!wrong) MPI_Type_free(&pair);
}
CASE(type_freed_twice, "invalid argument", 1) {
  MPI_Datatype pair, copy;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  copy = pair;
  MPI_Type_free(&pair);
  if (wrong) MPI_Type_free(&copy);
}
CASE(type_free_null, "invalid argument", 1) {
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_free(&pair);
  if (wrong) MPI_Type_free(&pair);
}
CASE(type_contiguous_negative, "invalid argument", 1) {
  MPI_Datatype some;
  MPI_Type_contiguous(wrong ? -3 : 3, MPI_INT, &some);
  MPI_Type_free(&some);
}
CASE(type_vector_negative, "invalid argument", 1) {
  MPI_Datatype some;
  MPI_Type_vector(2, wrong ? -1 : 1, 2, MPI_INT, &some);
  MPI_Type_free(&some);
}
CASE(type_indexed_negative, "invalid argument", 1) {
  MPI_Datatype some;
  int lengths[2] = {1, wrong ? -1 : 1}, places[2] = {0, 4};
  MPI_Type_indexed(2, lengths, places, MPI_INT, &some);
  MPI_Type_free(&some);
}
CASE(type_of_null, "invalid argument", 1) {
  MPI_Datatype some;
  MPI_Type_contiguous(3, wrong ? MPI_DATATYPE_NULL : MPI_INT, &some);
  MPI_Type_free(&some);
}
CASE(comm_null, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(&x, 1, MPI_INT, 1, 0, wrong ? MPI_COMM_NULL : WORLD);
  else receive_one();
}
CASE(comm_null_in_collective, "invalid argument", 2) { MPI_Barrier(wrong && rank == 1 ? MPI_COMM_NULL : WORLD); }
CASE(comm_of_others, "invalid argument", 3) {
  /* Rank 2 is in no half and uses what it was given. */
  MPI_Comm half;
  MPI_Comm_split(WORLD, rank < 2 ? 0 : MPI_UNDEFINED, 0, &half);
  if (rank < 2 || wrong) MPI_Barrier(half);
  if (half != MPI_COMM_NULL) MPI_Comm_free(&half);
}
CASE(comm_freed, "invalid argument", 2) {
  MPI_Comm twin, copy;
  MPI_Comm_dup(WORLD, &twin);
  copy = twin;
  if (wrong) MPI_Comm_free(&twin);
  MPI_Barrier(copy);
  if (!wrong) MPI_Comm_free(&twin);
}
CASE(comm_free_null, "invalid argument", 1) {
  MPI_Comm twin;
  MPI_Comm_dup(WORLD, &twin);
  MPI_Comm_free(&twin);
  if (wrong) MPI_Comm_free(&twin);
}
CASE(colour_negative, "invalid argument", 2) {
  MPI_Comm part;
  MPI_Comm_split(WORLD, wrong ? -5 : MPI_UNDEFINED, 0, &part);
  if (part != MPI_COMM_NULL) MPI_Comm_free(&part);
}
CASE(root_too_large, "invalid argument", 2) {
  int x = 1;
  MPI_Bcast(&x, 1, MPI_INT, wrong ? 2 : 1, WORLD);
}
CASE(root_negative, "invalid argument", 2) {
  int x = 1, sum;
  MPI_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, wrong ? -1 : 0, WORLD);
}
CASE(op_null, "invalid argument", 2) {
  int x = 1, sum;
  MPI_Allreduce(&x, &sum, 1, MPI_INT, wrong ? MPI_OP_NULL : MPI_SUM, WORLD);
}
static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
CASE(op_freed, "invalid argument", 2) {
  int x = 1, sum;
  MPI_Op op, copy;
  MPI_Op_create(add, 1, &op);
  copy = op;
  if (wrong) MPI_Op_free(&op);
  MPI_Allreduce(&x, &sum, 1, MPI_INT, copy, WORLD);
  if (!wrong) MPI_Op_free(&op);
}
CASE(op_free_null, "invalid argument", 1) {
  MPI_Op op;
  MPI_Op_create(add, 1, &op);
  MPI_Op_free(&op);
  if (wrong) MPI_Op_free(&op);
}
CASE(bcast_count_negative, "invalid argument", 2) {
  int x = 1;
  MPI_Bcast(&x, wrong ? -1 : 1, MPI_INT, 0, WORLD);
}
CASE(bcast_buffer_null, "invalid argument", 2) {
  int x = 1;
  MPI_Bcast(wrong && rank == 1 ? NULL : &x, 1, MPI_INT, 0, WORLD);
}
CASE(bcast_in_place, "invalid argument", 2) {
  int x = 1;
  MPI_Bcast(wrong && rank == 1 ? MPI_IN_PLACE : &x, 1, MPI_INT, 0, WORLD);
}
CASE(send_in_place, "invalid argument", 2) {
  int x = 1;
  if (rank == 0) MPI_Send(wrong ? MPI_IN_PLACE : &x, 1, MPI_INT, 1, 0, WORLD);
  else receive_one();
}
CASE(gather_null_at_root, "invalid argument", 2) {
  /* Right: only the root receives. */
  int x = 1, all[2];
  MPI_Gather(&x, 1, MPI_INT, rank == 0 && !wrong ? all : NULL, 1, MPI_INT, 0, WORLD);
}
CASE(scatter_null_at_root, "invalid argument", 2) {
  int x, all[2] = {1, 2};
  MPI_Scatter(rank == 0 && !wrong ? all : NULL, 1, MPI_INT, &x, 1, MPI_INT, 0, WORLD);
}
CASE(gatherv_count_negative, "invalid argument", 2) {
  int x = 1, all[2], counts[2] = {1, wrong ? -1 : 1}, places[2] = {0, 1};
  MPI_Gatherv(&x, 1, MPI_INT, all, counts, places, MPI_INT, 0, WORLD);
}
CASE(alltoall_count_negative, "invalid argument", 2) {
  int x[2] = {1, 2}, y[2];
  MPI_Alltoall(x, wrong ? -1 : 1, MPI_INT, y, 1, MPI_INT, WORLD);
}
CASE(reduce_scatter_count_negative, "invalid argument", 2) {
  int x[2] = {1, 2}, y[2], counts[2] = {wrong ? -1 : 1, 1};
  MPI_Reduce_scatter(x, y, counts, MPI_INT, MPI_SUM, WORLD);
}
CASE(isend_dest_too_large, "invalid argument", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, wrong ? 9 : 1, 0, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    receive_one();
  }
}
CASE(irecv_source_too_large, "invalid argument", 2) {
  int x;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Irecv(&x, 1, MPI_INT, wrong ? 9 : 0, 0, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(send_init_tag_negative, "invalid argument", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&x, 1, MPI_INT, 1, wrong ? -3 : 0, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else {
    receive_one();
  }
}
CASE(recv_init_count_negative, "invalid argument", 2) {
  int x;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Recv_init(&x, wrong ? -1 : 1, MPI_INT, 0, 0, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}
CASE(sendrecv_dest_too_large, "invalid argument", 2) {
  int x = 1, y;
  MPI_Sendrecv(&x, 1, MPI_INT, wrong ? 3 : 1 - rank, 0, &y, 1, MPI_INT, 1 - rank, 0, WORLD, MPI_STATUS_IGNORE);
}
CASE(sendrecv_receive_tag_negative, "invalid argument", 2) {
  int x = 1, y;
  MPI_Sendrecv(&x, 1, MPI_INT, 1 - rank, 0, &y, 1, MPI_INT, 1 - rank, wrong ? -4 : 0, WORLD, MPI_STATUS_IGNORE);
}
CASE(probe_source_too_large, "invalid argument", 2) {
  if (rank == 0) send_one(1);
  else {
    MPI_Probe(wrong ? 2 : 0, 0, WORLD, MPI_STATUS_IGNORE);
    receive_one();
  }
}
CASE(iprobe_tag_negative, "invalid argument", 2) {
  int flag;
  if (rank == 0) MPI_Iprobe(1, wrong ? -9 : 0, WORLD, &flag, MPI_STATUS_IGNORE);
}
CASE(start_null, "invalid argument", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    if (wrong) MPI_Start(&request);
  } else {
    receive_one();
  }
}
CASE(start_not_persistent, "invalid argument", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    if (wrong) MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    receive_one();
  }
}
CASE(cancel_null, "invalid argument", 1) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (wrong) MPI_Cancel(&request);
}
CASE(request_free_null, "invalid argument", 1) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (wrong) MPI_Request_free(&request);
}
CASE(wait_for_completed, "invalid argument", 2) {
  int x = 1;
  MPI_Request request, copy;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    copy = request;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(wrong ? &copy : &request, MPI_STATUS_IGNORE);
  } else {
    receive_one();
  }
}
CASE(group_null, "invalid argument", 2) {
  MPI_Group all;
  MPI_Comm made;
  MPI_Comm_group(WORLD, &all);
  MPI_Comm_create(WORLD, wrong ? MPI_GROUP_NULL : all, &made);
  MPI_Comm_free(&made);
  MPI_Group_free(&all);
}
CASE(group_incl_rank_too_large, "invalid argument", 2) {
  MPI_Group all, some;
  int ranks[2] = {0, wrong ? 7 : 1};
  MPI_Comm_group(WORLD, &all);
  MPI_Group_incl(all, 2, ranks, &some);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
}
CASE(group_free_null, "invalid argument", 1) {
  MPI_Group all;
  MPI_Comm_group(WORLD, &all);
  MPI_Group_free(&all);
  if (wrong) MPI_Group_free(&all);
}
CASE(cart_too_large, "invalid argument", 2) {
  MPI_Comm grid;
  int dims[2] = {2, wrong ? 2 : 1}, periods[2] = {0, 0};
  MPI_Cart_create(WORLD, 2, dims, periods, 0, &grid);
  if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
}
CASE(cart_negative, "invalid argument", 2) {
  MPI_Comm grid;
  int dims[1] = {wrong ? -2 : 2}, periods[1] = {0};
  MPI_Cart_create(WORLD, 1, dims, periods, 0, &grid);
  if (grid != MPI_COMM_NULL) MPI_Comm_free(&grid);
}
CASE(cart_shift_direction, "invalid argument", 2) {
  MPI_Comm grid;
  int dims[1] = {2}, periods[1] = {0}, from, to;
  MPI_Cart_create(WORLD, 1, dims, periods, 0, &grid);
  MPI_Cart_shift(grid, wrong ? 1 : 0, 1, &from, &to);
  MPI_Comm_free(&grid);
}
CASE(cart_coords_rank, "invalid argument", 2) {
  MPI_Comm grid;
  int dims[1] = {2}, periods[1] = {0}, where[1];
  MPI_Cart_create(WORLD, 1, dims, periods, 0, &grid);
  MPI_Cart_coords(grid, wrong ? 2 : 1, 1, where);
  MPI_Comm_free(&grid);
}
CASE(cart_of_plain, "invalid argument", 2) {
  int where[1], dims[1] = {2}, periods[1] = {0};
  MPI_Comm grid;
  MPI_Cart_create(WORLD, 1, dims, periods, 0, &grid);
  MPI_Cart_coords(wrong ? WORLD : grid, 0, 1, where);
  MPI_Comm_free(&grid);
}
CASE(dims_impossible, "invalid argument", 1) {
  int dims[2] = {wrong ? 4 : 3, 0};
  MPI_Dims_create(6, 2, dims);
}
CASE(dims_negative, "invalid argument", 1) {
  int dims[2] = {wrong ? -2 : 2, 0};
  MPI_Dims_create(6, 2, dims);
}
CASE(intercomm_leader, "invalid argument", 2) {
  MPI_Comm half, both;
  MPI_Comm_split(WORLD, rank, 0, &half);
  MPI_Intercomm_create(half, wrong ? 3 : 0, WORLD, 1 - rank, 4, &both);
  MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}
CASE(keyval_invalid, "invalid argument", 1) {
  int key, there, value = 3, *found;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(WORLD, wrong ? MPI_KEYVAL_INVALID : key, &value);
  MPI_Comm_get_attr(WORLD, key, &found, &there);
  MPI_Comm_delete_attr(WORLD, key);
  MPI_Comm_free_keyval(&key);
}
