// Request_get_status: looks at requests without completing them, specific and from anybody, persistent ones too.
#include "common.h"

enum { kRounds = 15 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int peers = world_size - 1;
  if (world_rank == 0) {
    MPI_Request requests[65];
    MPI_Status status;
    int values[65], flag;
    MPI_Recv_init(&values[64], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[64]);
    for (int round = 0; round < kRounds; ++round) {
      int polls = 0, seen = 0;
      for (int i = 0; i < peers; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, round % 2 ? MPI_ANY_SOURCE : i + 1, 1, MPI_COMM_WORLD, &requests[i]);
      for (int at = 0; !(seen >> at & 1) || seen != (1 << peers) - 1; at = (at + 1) % peers) {
        ++polls;
        MPI_Request_get_status(requests[at], &flag, round % 3 ? &status : MPI_STATUS_IGNORE);
        if (flag && !(seen >> at & 1)) {
          seen |= 1 << at;
          took("seen", round % 3 ? status.MPI_SOURCE : 0, at, values[at]);
        }
      }
      fold((uint64_t)polls);
      say("polls %d", polls);
      MPI_Waitall(peers, requests, MPI_STATUSES_IGNORE);
      for (int i = 0; i < peers; ++i) {
        MPI_Start(&requests[64]);
        do {
          ++polls;
          MPI_Request_get_status(requests[64], &flag, &status);
        } while (!flag);
        MPI_Wait(&requests[64], MPI_STATUS_IGNORE);
        took("persistent", status.MPI_SOURCE, polls, values[64]);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
    say("null %d", flag);
    MPI_Request_free(&requests[64]);
  } else {
    for (int round = 0; round < kRounds; ++round) {
      int value = world_rank * 1000 + round;
      jitter(200);
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      jitter(200);
      MPI_Send(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  finish();
}
