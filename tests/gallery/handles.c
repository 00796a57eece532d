/* What is made and never given back; requests that are not used as they should be. */
#include "gallery.h"

CASE(isend_never_waited_for, "request leak", 2) {
  static int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    if (!wrong) MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    receive_one();
  }
}
CASE(irecv_never_waited_for, "request leak", 2) {
  static int x;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    if (!wrong) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(ibarrier_never_waited_for, "request leak", 2) {
  MPI_Request request;
  MPI_Ibarrier(WORLD, &request);
  if (!wrong) MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(one_of_many_not_waited_for, "request leak", 2) {
  static int x[3];
  MPI_Request requests[3];
  for (int i = 0; i < 3; ++i)
    if (rank == 0) MPI_Isend(&x[i], 1, MPI_INT, 1, i, WORLD, &requests[i]);
    else MPI_Irecv(&x[i], 1, MPI_INT, 0, i, WORLD, &requests[i]);
  MPI_Waitall(wrong ? 2 : 3, requests, MPI_STATUSES_IGNORE);
}
CASE(request_overwritten, "request leak", 2) {
  static int x[2];
  MPI_Request request, second;
  if (rank == 0) {
    MPI_Isend(&x[0], 1, MPI_INT, 1, 0, WORLD, &request);
    MPI_Isend(&x[1], 1, MPI_INT, 1, 0, WORLD, wrong ? &request : &second);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!wrong) MPI_Wait(&second, MPI_STATUS_IGNORE);
  } else {
    receive_one();
    receive_one();
  }
}
CASE(tested_once, "request leak", 2) {
  static int x;
  int flag = 0;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (!wrong && !flag) MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(persistent_send_left, "persistent request leak", 2) {
  static int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!wrong) MPI_Request_free(&request);
  } else {
    receive_one();
  }
}
CASE(persistent_receive_left, "persistent request leak", 2) {
  static int x;
  MPI_Request request;
  if (rank == 0) {
    send_one(1);
    send_one(2);
  } else {
    MPI_Recv_init(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    for (int i = 0; i < 2; ++i) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!wrong) MPI_Request_free(&request);
  }
}
CASE(buffered_send_restarted, "persistent request leak", 2) {
  /* Open MPI changes the handle in MPI_Start as long as it has not sent what was buffered. */
  enum { kMany = 1 << 16, kTimes = 3 };
  static char room[kTimes * (kMany * sizeof(int) + MPI_BSEND_OVERHEAD)];
  static int x[kMany];
  MPI_Request request;
  if (rank == 0) {
    void* detached;
    int bytes;
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend_init(x, kMany, MPI_INT, 1, 0, WORLD, &request);
    for (int i = 0; i < kTimes; ++i) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    if (!wrong) MPI_Request_free(&request);
    MPI_Barrier(WORLD);
    MPI_Buffer_detach(&detached, &bytes);
  } else {
    MPI_Barrier(WORLD);
    for (int i = 0; i < kTimes; ++i) MPI_Recv(x, kMany, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
  }
}
CASE(persistent_never_used, "persistent request leak", 1) {
  static int x;
  MPI_Request request;
  MPI_Send_init(&x, 1, MPI_INT, 0, 0, WORLD, &request);
  if (!wrong) MPI_Request_free(&request);
}
CASE(started_twice, "request misuse", 2) {
  static int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    MPI_Start(&request);
    if (!wrong) MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else {
    receive_one();
    receive_one();
  }
}
CASE(receive_freed_while_active, "request misuse", 2) {
  static int x;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    if (wrong) MPI_Request_free(&request);
    else MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(send_freed_while_active, "request misuse", 2) {
  /* Right: for a send, MPI allows it. */
  static int x = 1, y;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    MPI_Request_free(&request);
  } else {
    MPI_Irecv(&y, 1, MPI_INT, 0, 0, WORLD, &request);
    if (wrong) MPI_Request_free(&request);
    else MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(collective_freed_while_active, "request misuse", 2) {
  MPI_Request request;
  MPI_Ibarrier(WORLD, &request);
  if (wrong) MPI_Request_free(&request);
  else MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(waited_for_but_never_started, "request misuse", 2) {
  /* Right: to wait for a request between two of its starts. */
  static int x = 1;
  MPI_Request request;
  MPI_Send_init(&x, 1, MPI_INT, 1, 0, WORLD, &request);
  if (rank == 0 && !wrong) MPI_Start(&request);
  if (rank == 0) {
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (!wrong) {
    receive_one();
  }
  MPI_Request_free(&request);
}

CASE(dup_left, "communicator leak", 2) {
  MPI_Comm made;
  MPI_Comm_dup(WORLD, &made);
  if (!wrong) MPI_Comm_free(&made);
}
CASE(split_left, "communicator leak", 2) {
  MPI_Comm made;
  MPI_Comm_split(WORLD, rank, 0, &made);
  if (!wrong || rank == 0) MPI_Comm_free(&made);
}
CASE(cart_left, "communicator leak", 2) {
  MPI_Comm made;
  int dims[1] = {2}, periods[1] = {0};
  MPI_Cart_create(WORLD, 1, dims, periods, 0, &made);
  if (!wrong) MPI_Comm_free(&made);
}
CASE(intercomm_left, "communicator leak", 2) {
  MPI_Comm half, both;
  MPI_Comm_split(WORLD, rank, 0, &half);
  MPI_Intercomm_create(half, 0, WORLD, 1 - rank, 4, &both);
  if (!wrong) MPI_Comm_free(&both);
  MPI_Comm_free(&half);
}
CASE(dups_in_a_loop, "communicator leak", 2) {
  MPI_Comm made;
  for (int i = 0; i < 3; ++i) {
    MPI_Comm_dup(WORLD, &made);
    if (!wrong || i == 1) MPI_Comm_free(&made);
  }
}
CASE(idup_left, "communicator leak", 2) {
  MPI_Comm made;
  MPI_Request request;
  MPI_Comm_idup(WORLD, &made, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (!wrong) MPI_Comm_free(&made);
}
CASE(group_left, "group leak", 2) {
  MPI_Group all;
  MPI_Comm_group(WORLD, &all);
  if (!wrong) MPI_Group_free(&all);
}
CASE(group_incl_left, "group leak", 2) {
  MPI_Group all, one;
  int zero = 0;
  MPI_Comm_group(WORLD, &all);
  MPI_Group_incl(all, 1, &zero, &one);
  MPI_Group_free(&all);
  if (!wrong) MPI_Group_free(&one);
}
CASE(group_taken_twice, "group leak", 2) {
  MPI_Group one, other;
  MPI_Comm_group(WORLD, &one);
  MPI_Comm_group(WORLD, &other);
  MPI_Group_free(&one);
  if (!wrong) MPI_Group_free(&other);
}
CASE(contiguous_left, "datatype leak", 1) {
  MPI_Datatype made;
  MPI_Type_contiguous(3, MPI_INT, &made);
  MPI_Type_commit(&made);
  if (!wrong) MPI_Type_free(&made);
}
CASE(vector_left, "datatype leak", 1) {
  MPI_Datatype made;
  MPI_Type_vector(3, 1, 2, MPI_INT, &made);
  if (!wrong) MPI_Type_free(&made);
}
CASE(type_dup_left, "datatype leak", 1) {
  MPI_Datatype made;
  MPI_Type_dup(MPI_INT, &made);
  if (!wrong) MPI_Type_free(&made);
}
CASE(inner_type_left, "datatype leak", 1) {
  MPI_Datatype inner, outer;
  MPI_Type_contiguous(3, MPI_INT, &inner);
  MPI_Type_vector(2, 1, 2, inner, &outer);
  if (!wrong) MPI_Type_free(&inner);
  MPI_Type_free(&outer);
}
static void add(void* in, void* inout, int* n, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *n; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
CASE(operation_left, "operation leak", 2) {
  MPI_Op op;
  int x = 1, sum;
  MPI_Op_create(add, 1, &op);
  MPI_Allreduce(&x, &sum, 1, MPI_INT, op, WORLD);
  if (!wrong) MPI_Op_free(&op);
}
