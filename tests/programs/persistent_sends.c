// Persistent sends (Start, Startall) and a persistent specific receive beside wildcard receives. A persistent request
// stays in its array after it completed; Waitany and Waitsome must step over it while it is inactive.
#include "common.h"

enum { kRounds = 15, kSends = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int peers = world_size - 1;
  if (world_rank == 0) {
    int told, values[64], index, count, indices[65];
    MPI_Request requests[65];
    MPI_Status status, statuses[65];
    MPI_Recv_init(&told, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &requests[0]);
    for (int round = 0; round < kRounds; ++round) {
      MPI_Start(&requests[0]);
      const int wild = kSends * peers;
      for (int i = 0; i < wild; ++i)
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[1 + i]);
      for (int done = 0; done < wild + 1;) {
        if (round % 2) {
          MPI_Waitany(wild + 1, requests, &index, &status);
          ++done;
          say("index %d from %d tag %d", index, status.MPI_SOURCE, status.MPI_TAG);
        } else {
          MPI_Waitsome(wild + 1, requests, &count, indices, statuses);
          for (int i = 0; i < count; ++i, ++done)
            say("some %d from %d tag %d", indices[i], statuses[i].MPI_SOURCE, statuses[i].MPI_TAG);
        }
      }
      for (int i = 0; i < wild; ++i) took("wild", 0, 1, values[i]);
      took("told", 1, 9, told);
    }
    MPI_Request_free(&requests[0]);
  } else {
    MPI_Request sends[kSends + 1];
    int values[kSends + 1];
    for (int i = 0; i <= kSends; ++i)
      MPI_Send_init(&values[i], 1, MPI_INT, 0, i == kSends ? 9 : 1, MPI_COMM_WORLD, &sends[i]);
    for (int round = 0; round < kRounds; ++round) {
      for (int i = 0; i <= kSends; ++i) values[i] = world_rank * 1000 + round * 10 + i;
      jitter(300);
      if (round % 2) {
        MPI_Startall(kSends, sends);
        MPI_Waitall(kSends, sends, MPI_STATUSES_IGNORE);
      } else {
        for (int i = 0; i < kSends; ++i) {
          jitter(150);
          MPI_Start(&sends[i]);
        }
        for (int i = 0; i < kSends; ++i) MPI_Wait(&sends[i], MPI_STATUS_IGNORE);
      }
      if (world_rank == 1) {
        MPI_Start(&sends[kSends]);
        MPI_Wait(&sends[kSends], MPI_STATUS_IGNORE);
      }
    }
    for (int i = 0; i <= kSends; ++i) MPI_Request_free(&sends[i]);
  }
  finish();
}
