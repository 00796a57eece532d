// MPI 4: persistent collectives, partitioned communication, and the forms with large counts.
#include "common.h"

enum { kRounds = 12, kParts = 6, kEach = 100 };

#if MPI_VERSION >= 4
static void persistent_collectives(int round, MPI_Request* reduce, int* in, int* out) {
  int flag = 0, polls = 0;
  in[0] = (int)(digest & 0xff) + round;
  jitter(200);
  MPI_Start(reduce);
  while (!flag) {
    ++polls;
    MPI_Test(reduce, &flag, MPI_STATUS_IGNORE);
  }
  took("reduced", polls, 0, out[0]);
}

static void partitioned(int round) {
  static int data[kParts * kEach];
  MPI_Request request;
  if (world_rank == 0) {
    int polls = 0, flag;
    MPI_Precv_init(data, kParts, kEach, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int part = kParts - 1; part >= 0; --part)
      do {
        ++polls;
        MPI_Parrived(request, part, &flag);
      } while (!flag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    took("parts", polls, round, data[kParts * kEach - 1]);
    MPI_Request_free(&request);
  } else if (world_rank == 1) {
    for (int i = 0; i < kParts * kEach; ++i) data[i] = round * 1000 + i;
    MPI_Psend_init(data, kParts, kEach, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    for (int part = 0; part < kParts; ++part) {
      jitter(100);
      MPI_Pready(part, request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
}

static void large_counts(void) {
  int value = world_rank * 10, other;
  MPI_Status status;
  if (world_rank == 0) {
    for (int i = 1; i < world_size; ++i) {
      MPI_Request request;
      if (i % 2) {
        MPI_Recv_c(&value, (MPI_Count)1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &status);
      } else {
        MPI_Irecv_c(&value, (MPI_Count)1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, &status);
      }
      took("large", status.MPI_SOURCE, 6, value);
      MPI_Send_c(&value, (MPI_Count)1, MPI_INT, status.MPI_SOURCE, 7, MPI_COMM_WORLD);
    }
  } else {
    jitter(200);
    MPI_Sendrecv_c(&value, 1, MPI_INT, 0, 6, &other, 1, MPI_INT, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    took("back", status.MPI_SOURCE, 7, other);
  }
}
#endif

int main(int argc, char** argv) {
  start(&argc, &argv);
#if MPI_VERSION >= 4
  int in[1], out[1];
  MPI_Request reduce;
  MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &reduce);
  for (int round = 0; round < kRounds; ++round) {
    persistent_collectives(round, &reduce, in, out);
    partitioned(round);
    large_counts();
  }
  MPI_Request_free(&reduce);
#endif
  finish();
}
