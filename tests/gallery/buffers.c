/* Buffers that belong to MPI while an operation is pending. */
#include <stdio.h>
#include <string.h>
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

/* Larger than what was allocated. The twins use all of it. */
CASE(send_beyond_allocation, "buffer too small", 2) {
  int* const x = calloc(10, sizeof *x);
  if (rank == 0) MPI_Send(x, wrong ? 11 : 10, MPI_INT, 1, 0, WORLD);
  else {
    int y[11];
    MPI_Recv(y, 11, MPI_INT, 0, 0, WORLD, MPI_STATUS_IGNORE);
  }
  free(x);
}
CASE(receive_beyond_allocation, "buffer too small", 2) {
  char* const x = malloc(21);
  if (rank == 0) {
    memset(x, 0, 21);
    MPI_Send(x, 21, MPI_CHAR, 1, 0, WORLD);
  } else {
    MPI_Recv(x, wrong ? 22 : 21, MPI_CHAR, 0, 0, WORLD, MPI_STATUS_IGNORE);
  }
  free(x);
}
CASE(irecv_in_the_middle, "buffer too small", 2) {
  double* const x = malloc(100000 * sizeof *x);
  MPI_Request request;
  if (rank == 0) {
    double y[8] = {0};
    MPI_Send(y, 8, MPI_DOUBLE, 1, 0, WORLD);
  } else {
    MPI_Irecv(&x[100000 - (wrong ? 7 : 8)], 8, MPI_DOUBLE, 0, 0, WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  free(x);
}
CASE(column_beyond_matrix, "buffer too small", 2) {
  MPI_Datatype column;
  double* const matrix = calloc(4 * 5, sizeof *matrix);
  MPI_Type_vector(4, 1, 5, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  if (rank == 0) MPI_Send(&matrix[wrong ? 5 : 4], 1, column, 1, 0, WORLD);
  else MPI_Recv(matrix, 1, column, 0, 0, WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&column);
  free(matrix);
}
CASE(gather_into_one_block, "buffer too small", 3) {
  int mine[2] = {rank, rank};
  int* const all = malloc((wrong ? 2 : 6) * sizeof *all);
  MPI_Gather(mine, 2, MPI_INT, all, 2, MPI_INT, 1, WORLD);
  free(all);
}
CASE(scatterv_from_too_little, "buffer too small", 3) {
  int counts[3] = {1, 2, 3}, at[3] = {0, 1, 3}, mine[3];
  int* const all = calloc(6, sizeof *all);
  if (wrong) at[2] = 4;
  MPI_Scatterv(all, counts, at, MPI_INT, mine, rank + 1, MPI_INT, 0, WORLD);
  free(all);
}
CASE(reduce_after_realloc, "buffer too small", 2) {
  int x[64] = {0};
  int* sum = malloc(16 * sizeof *sum);
  sum = realloc(sum, (wrong ? 63 : 64) * sizeof *sum);
  MPI_Reduce(x, sum, 64, MPI_INT, MPI_SUM, 0, WORLD);
  free(sum);
}
CASE(persistent_receive_too_large, "buffer too small", 2) {
  MPI_Request request;
  void* x = NULL;
  if (posix_memalign(&x, 64, 40)) return;
  if (rank == 0) {
    memset(x, 0, 40);
    MPI_Send(x, 10, MPI_INT, 1, 0, WORLD);
  } else {
    MPI_Recv_init(x, wrong ? 12 : 10, MPI_INT, 0, 0, WORLD, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  free(x);
}
CASE(window_beyond_allocation, "buffer too small", 2) {
  MPI_Win win;
  int* const x = calloc(100, sizeof *x);
  MPI_Win_create(x, (wrong ? 101 : 100) * sizeof *x, sizeof *x, MPI_INFO_NULL, WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  free(x);
}
CASE(put_of_too_much, "buffer too small", 2) {
  MPI_Win win;
  int memory[16];
  int* const x = calloc(3, sizeof *x);
  MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, WORLD, &win);
  MPI_Win_fence(0, win);
  if (rank == 0) MPI_Put(x, wrong ? 4 : 3, MPI_INT, 1, 0, wrong ? 4 : 3, MPI_INT, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  free(x);
}

/* Looked at before it is there. */
CASE(irecv_sent_on_early, "receive buffer read early", 3) {
  int x = 0, y;
  MPI_Request request;
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 0, WORLD);
  if (rank == 1) {
    MPI_Irecv(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    if (wrong) {
      y = x;
      MPI_Send(&y, 1, MPI_INT, 2, 0, WORLD);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (!wrong) MPI_Send(&x, 1, MPI_INT, 2, 0, WORLD);
  }
  if (rank == 2) MPI_Recv(&y, 1, MPI_INT, 1, 0, WORLD, MPI_STATUS_IGNORE);
}
CASE(irecv_printed_early, "receive buffer read early", 2) {
  int x[2] = {5, 5};
  MPI_Request request;
  if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 1, 0, WORLD);
  else {
    MPI_Irecv(x, wrong ? 2 : 1, MPI_INT, 0, 0, WORLD, &request);
    printf("%d\n", x[1]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (x[1] != 5) abort(); /* what the message does not reach stays as it was */
  }
}
CASE(iallreduce_decides_early, "receive buffer read early", 2) {
  int sum = 0, one = 1;
  MPI_Request request;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD, &request);
  if (wrong && sum > 1000) MPI_Barrier(WORLD);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  if (sum != 2) abort();
}
CASE(in_place_read_early, "receive buffer read early", 2) {
  int x = rank + 1, first = x;
  MPI_Request request;
  MPI_Iallreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, WORLD, &request);
  if (wrong && rank == 1) first = x;
  printf("%d\n", first);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  printf("%d\n", x);
}
CASE(persistent_receive_read_early, "receive buffer read early", 2) {
  int x = 3, i;
  MPI_Request request;
  if (rank == 0) {
    for (i = 0; i < 3; ++i) MPI_Send(&i, 1, MPI_INT, 1, 0, WORLD);
  } else {
    MPI_Recv_init(&x, 1, MPI_INT, 0, 0, WORLD, &request);
    for (i = 0; i < 3; ++i) {
      MPI_Start(&request);
      if (wrong && i == 2) printf("%d\n", x);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      printf("%d\n", x);
    }
    MPI_Request_free(&request);
  }
}
