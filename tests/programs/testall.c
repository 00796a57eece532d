// Testall in a loop over wildcard and specific receives; statuses wanted and not wanted.
#include "common.h"

enum { kRounds = 15 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int peers = world_size - 1;
  for (int round = 0; round < kRounds; ++round) {
    if (world_rank == 0) {
      MPI_Request requests[64];
      MPI_Status statuses[64];
      int values[64], flag = 0, polls = 0;
      for (int i = 0; i < peers; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
      MPI_Irecv(&values[peers], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[peers]);
      requests[peers + 1] = MPI_REQUEST_NULL;
      for (;;) {
        MPI_Testall(peers + 2, requests, &flag, round % 3 == 2 ? MPI_STATUSES_IGNORE : statuses);
        if (flag) break;
        ++polls;
      }
      fold((uint64_t)polls);
      say("all true after %d failures", polls);
      for (int i = 0; i <= peers; ++i)
        if (round % 3 == 2)
          took("ignored", 0, 0, values[i]);
        else
          took("any", statuses[i].MPI_SOURCE, statuses[i].MPI_TAG, values[i]);
    } else {
      jitter(500);
      send_stream(1, 1, 200);
      if (world_rank == 1) send_stream(1, 2, 500);
    }
  }
  finish();
}
