// Many ranks: a token round the ring, then everybody sends a few messages to rank 0, which takes them in any order.
#include "common.h"

enum { kEach = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  int token = 0;
  if (world_rank > 0) MPI_Recv(&token, 1, MPI_INT, world_rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  token += world_rank;
  if (world_rank + 1 < world_size) MPI_Send(&token, 1, MPI_INT, world_rank + 1, 1, MPI_COMM_WORLD);
  say("token %d", token);
  if (world_rank == 0) {
    for (int i = 0; i < kEach * (world_size - 1); ++i) {
      MPI_Status status;
      int value;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      took("any", status.MPI_SOURCE, status.MPI_TAG, value);
    }
  } else {
    for (int i = 0; i < kEach; ++i) send_stream(1, 2 + i, 200);
  }
  finish();
}
