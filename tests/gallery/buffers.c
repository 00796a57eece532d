/* Buffers that belong to MPI while an operation is pending. */
#include <sys/mman.h>

#include "gallery.h"

CASE(isend_changed, "send buffer changed", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    if (wrong) x = 2;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    x = 3;
  } else {
    receive_one();
  }
}
CASE(isend_of_a_loop, "send buffer changed", 2) {
  int x[4];
  MPI_Request requests[4];
  for (int i = 0; i < 4; ++i)
    if (rank == 0) {
      int* const from = wrong ? x : &x[i];
      *from = i;
      MPI_Isend(from, 1, MPI_INT, 1, 0, WORLD, &requests[i]);
    } else {
      receive_one();
    }
  if (rank == 0) MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
CASE(persistent_send_changed, "send buffer changed", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) {
    MPI_Send_init(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    x = 2; /* not started yet */
    MPI_Start(&request);
    if (wrong) x = 3;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  } else {
    receive_one();
  }
}
CASE(ibcast_changed_at_root, "send buffer changed", 2) {
  int x = 1;
  MPI_Request request;
  MPI_Ibcast(&x, 1, MPI_INT, 0, WORLD, &request);
  if (wrong && rank == 0) x = 2;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(iallreduce_changed, "send buffer changed", 2) {
  int x = 1, sum;
  MPI_Request request;
  MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request);
  if (wrong && rank == 1) x = 2;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(changed_before_get_status, "send buffer changed", 2) {
  /* Right: what is known to be complete has no buffer any more, although the request is still there. */
  int x = 1, flag = 0;
  MPI_Request request;
  if (rank == 0) {
    MPI_Isend(&x, 1, MPI_INT, 1, 0, WORLD, &request);
    if (wrong) x = 2;
    while (!flag) MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    x = 3;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    receive_one();
  }
}
CASE(hole_changed, "send buffer changed", 2) {
  /* Right: what lies between the elements is not sent. */
  int x[4] = {1, 2, 3, 4}, y[2];
  MPI_Datatype every_other;
  MPI_Request request;
  MPI_Type_vector(2, 1, 2, MPI_INT, &every_other);
  MPI_Type_commit(&every_other);
  if (rank == 0) {
    MPI_Isend(x, 1, every_other, 1, 0, WORLD, &request);
    x[wrong ? 2 : 1] = 9;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(y, 2, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Type_free(&every_other);
}
CASE(sent_memory_freed, "send buffer changed", 2) {
  enum { kMany = 4096, kBytes = kMany * sizeof(int) };
  MPI_Request request;
  int* const x = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (rank == 0) {
    MPI_Isend(x, kMany, MPI_INT, 1, 0, WORLD, &request);
    if (wrong) munmap(x, kBytes);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(x, kMany, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
  }
  if (!wrong || rank == 1) munmap(x, kBytes);
}
CASE(irecv_written, "receive buffer changed", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    if (wrong) x = 7;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    x = 8;
  }
}
CASE(irecv_incremented, "receive buffer changed", 2) {
  int x[3] = {0};
  MPI_Request request;
  if (rank == 0) MPI_Send(x, 3, MPI_INT, 1, 0, WORLD);
  else {
    MPI_Irecv(x, 3, MPI_INT, 0, 0, WORLD, &request);
    if (wrong) ++x[1];
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(persistent_receive_written, "receive buffer changed", 2) {
  int x = 1;
  MPI_Request request;
  if (rank == 0) send_one(1);
  else {
    MPI_Recv_init(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    x = 2;
    MPI_Start(&request);
    if (wrong) x = 3;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}
CASE(ibcast_written, "receive buffer changed", 2) {
  int x = 1;
  MPI_Request request;
  MPI_Ibcast(&x, 1, MPI_INT, 0, WORLD, &request);
  if (wrong && rank == 1) x = 2;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(iallreduce_result_written, "receive buffer changed", 2) {
  int x = 1, sum = 0;
  MPI_Request request;
  MPI_Iallreduce(&x, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request);
  if (wrong && rank == 0) sum = 2;
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

CASE(two_receives_in_one, "overlapping buffers", 2) {
  int x[2];
  MPI_Request requests[2];
  if (rank == 0) {
    send_one(1);
    send_one(2);
  } else {
    MPI_Irecv(&x[0], 1, MPI_INT, 0, 0, WORLD, &requests[0]);
    MPI_Irecv(&x[wrong ? 0 : 1], 1, MPI_INT, 0, 0, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}
CASE(receives_overlap, "overlapping buffers", 2) {
  int x[4] = {0};
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Send(x, 2, MPI_INT, 1, 0, WORLD);
    MPI_Send(x, 2, MPI_INT, 1, 0, WORLD);
  } else {
    MPI_Irecv(&x[0], 2, MPI_INT, 0, 0, WORLD, &requests[0]);
    MPI_Irecv(&x[wrong ? 1 : 2], 2, MPI_INT, 0, 0, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
}
CASE(columns_overlap, "overlapping buffers", 2) {
  /* Right: two columns of one matrix lie between each other. */
  int x[8] = {0};
  MPI_Datatype column;
  MPI_Request requests[2];
  MPI_Type_vector(4, 1, 2, MPI_INT, &column);
  MPI_Type_commit(&column);
  if (rank == 0) {
    MPI_Send(x, 4, MPI_INT, 1, 0, WORLD);
    MPI_Send(x, 4, MPI_INT, 1, 0, WORLD);
  } else {
    MPI_Irecv(&x[0], 1, column, 0, 0, WORLD, &requests[0]);
    MPI_Irecv(&x[wrong ? 0 : 1], 1, column, 0, 0, WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Type_free(&column);
}
CASE(received_while_sent, "overlapping buffers", 2) {
  int x = 1, y = 2;
  MPI_Request requests[2];
  MPI_Isend(&x, 1, MPI_INT, 1 - rank, 0, WORLD, &requests[0]);
  MPI_Irecv(wrong ? &x : &y, 1, MPI_INT, 1 - rank, 0, WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}
CASE(sent_while_received, "overlapping buffers", 2) {
  int x = 1, y = 2;
  MPI_Request request;
  MPI_Irecv(wrong ? &x : &y, 1, MPI_INT, 1 - rank, 0, WORLD, &request);
  MPI_Send(&x, 1, MPI_INT, 1 - rank, 0, WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
CASE(sent_twice_at_once, "overlapping buffers", 2) {
  /* Right: one buffer may be sent twice at the same time. */
  int x = 1, y[2];
  MPI_Request requests[4];
  for (int i = 0; i < 2; ++i) {
    MPI_Isend(&x, 1, MPI_INT, 1 - rank, i, WORLD, &requests[i]);
    MPI_Irecv(&y[wrong ? 0 : i], 1, MPI_INT, 1 - rank, i, WORLD, &requests[2 + i]);
  }
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}
CASE(blocking_receive_into_pending, "overlapping buffers", 2) {
  int x[2];
  MPI_Request request;
  if (rank == 0) {
    send_one(1);
    send_one(2);
  } else {
    MPI_Irecv(&x[0], 1, MPI_INT, 0, 0, WORLD, &request);
    MPI_Recv(&x[wrong ? 0 : 1], 1, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}
CASE(collective_into_pending, "overlapping buffers", 2) {
  int x = 1, y = 1;
  MPI_Request request;
  if (rank == 1) MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
  MPI_Bcast(wrong ? &x : &y, 1, MPI_INT, 0, WORLD);
  if (rank == 0) send_one(2);
  else MPI_Wait(&request, MPI_STATUS_IGNORE);
}
