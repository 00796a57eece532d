// Nonblocking wildcard receives, several at once, waited for one by one in and against the order of posting.
#include "common.h"

enum { kRounds = 12, kBatch = 4 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    const int total = kRounds * (world_size - 1);
    for (int round = 0; round < total; ++round) {
      MPI_Request requests[kBatch];
      int values[kBatch];
      for (int i = 0; i < kBatch; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 1, MPI_COMM_WORLD, &requests[i]);
      for (int i = 0; i < kBatch; ++i) {
        const int which = round % 2 ? kBatch - 1 - i : i;
        MPI_Status status;
        MPI_Wait(&requests[which], &status);
        took(round % 2 ? "backward" : "forward", status.MPI_SOURCE, status.MPI_TAG, values[which]);
      }
    }
  } else {
    send_stream(kRounds * kBatch, 1, 250);
  }
  finish();
}
