// Waitall over wildcard receives together with specific receives, sends and null requests.
#include "common.h"

enum { kRounds = 20 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int peers = world_size - 1;
  for (int round = 0; round < kRounds; ++round) {
    int values[64], echo[64];
    MPI_Request requests[128];
    MPI_Status statuses[128];
    int n = 0;
    if (world_rank == 0) {
      for (int i = 0; i < peers; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[n++]);
      requests[n++] = MPI_REQUEST_NULL;
      for (int i = 0; i < peers; ++i)
        MPI_Irecv(&echo[i], 1, MPI_INT, i + 1, 2, MPI_COMM_WORLD, &requests[n++]);
      MPI_Waitall(n, requests, statuses);
      for (int i = 0; i < peers; ++i) took("any", statuses[i].MPI_SOURCE, statuses[i].MPI_TAG, values[i]);
      for (int i = 0; i < peers; ++i) took("from", statuses[peers + 1 + i].MPI_SOURCE, 2, echo[i]);
      for (int i = 0; i < peers; ++i) {
        echo[i] = (int)(digest & 0xffff);
        MPI_Isend(&echo[i], 1, MPI_INT, i + 1, 3, MPI_COMM_WORLD, &requests[i]);
      }
      MPI_Waitall(peers, requests, MPI_STATUSES_IGNORE);
    } else {
      jitter(400);
      for (int tag = 1; tag <= 2; ++tag) {
        values[tag] = world_rank * 1000 + round;
        MPI_Isend(&values[tag], 1, MPI_INT, 0, tag, MPI_COMM_WORLD, &requests[n++]);
      }
      MPI_Irecv(&echo[0], 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &requests[n++]);
      MPI_Waitall(n, requests, statuses);
      took("told", 0, 3, echo[0]);
    }
  }
  finish();
}
