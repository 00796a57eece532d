// Wildcard receives that are freed while active still take messages. The freed ones are posted first, so the messages
// that they took are missing from what the later receives see; their own buffers show what came.
#include "common.h"

enum { kRounds = 10, kFreed = 2, kLater = 4 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    static int freed[kRounds * 64][kFreed];
    const int rounds = kRounds * (world_size - 1);
    for (int round = 0; round < rounds; ++round) {
      for (int i = 0; i < kFreed; ++i) {
        freed[round][i] = -1;
        MPI_Request request;
        MPI_Irecv(&freed[round][i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        say("freed: %s", request == MPI_REQUEST_NULL ? "null" : "not null");
      }
      for (int i = 0; i < kLater; ++i) {
        int value;
        MPI_Status status;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
        took("later", status.MPI_SOURCE, status.MPI_TAG, value);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < rounds; ++round)
      for (int i = 0; i < kFreed; ++i) took("freed", 0, round, freed[round][i]);
  } else {
    static int values[kRounds * (kFreed + kLater)];
    for (int i = 0; i < kRounds * (kFreed + kLater); ++i) {
      jitter(200);
      values[i] = world_rank * 1000 + i;
      MPI_Request request;
      MPI_Isend(&values[i], 1, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
      MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  finish();
}
