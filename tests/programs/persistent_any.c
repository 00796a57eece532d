// Persistent receives from anybody: started one by one and all together, completed by every kind of call, with other
// requests beside them, on a derived type that is freed before the last start. One is freed while it is active.
#include "common.h"

enum { kRounds = 24, kSlots = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int peers = world_size - 1;
  if (world_rank == 0) {
    MPI_Request requests[kSlots + 1];
    MPI_Status status, statuses[kSlots + 1];
    int values[kSlots + 1][2], index, flag, count, indices[kSlots + 1];
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < kSlots; ++i)
      MPI_Recv_init(values[i], 1, pair, MPI_ANY_SOURCE, i == 2 ? MPI_ANY_TAG : 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Recv_init(values[kSlots], 1, pair, 1, 5, MPI_COMM_WORLD, &requests[kSlots]);
    MPI_Type_free(&pair);
    MPI_Waitall(kSlots + 1, requests, MPI_STATUSES_IGNORE);  // inactive: returns at once
    for (int round = 0; round < kRounds; ++round) {
      // kSlots * peers messages with tag 1 arrive in a round, and before them one with tag 5, which is always received
      // first: the slot with MPI_ANY_TAG must not get it.
      if (round % 2) {
        MPI_Start(&requests[kSlots]);
        MPI_Wait(&requests[kSlots], &status);
        took("specific", status.MPI_SOURCE, status.MPI_TAG, values[kSlots][0]);
      } else {
        MPI_Recv(values[kSlots], 2, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      for (int left = kSlots * peers; left > 0; left -= kSlots) {
        if (left % 2) {
          MPI_Startall(kSlots, requests);
        } else {
          for (int i = kSlots - 1; i >= 0; --i) MPI_Start(&requests[i]);
        }
        switch (round % 6) {
          case 0: MPI_Waitall(kSlots, requests, statuses); break;
          case 1:
            for (int i = 0; i < kSlots; ++i) {
              MPI_Waitany(kSlots, requests, &index, &statuses[0]);
              say("index %d from %d", index, statuses[0].MPI_SOURCE);
              fold((uint64_t)index);
            }
            break;
          case 2:
            for (int done = 0; done < kSlots; done += count) {
              MPI_Waitsome(kSlots, requests, &count, indices, statuses);
              for (int i = 0; i < count; ++i) say("some %d from %d", indices[i], statuses[i].MPI_SOURCE);
            }
            break;
          case 3: {
            int polls = 0;
            do {
              ++polls;
              MPI_Testall(kSlots, requests, &flag, MPI_STATUSES_IGNORE);
            } while (!flag);
            say("polls %d", polls);
            break;
          }
          case 4:
            for (int i = 0; i < kSlots; ++i) {
              do MPI_Test(&requests[i], &flag, &status);
              while (!flag);
              say("tested %d from %d", i, status.MPI_SOURCE);
            }
            break;
          default:
            for (int i = 0; i < kSlots; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        for (int i = 0; i < kSlots; ++i) took("slot", i, 1, values[i][0] * 100 + values[i][1]);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Start(&requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 1; i < peers; ++i) {
      MPI_Recv(values[1], 2, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
      took("last", status.MPI_SOURCE, status.MPI_TAG, values[1][0]);
    }
    // Behind the message that the freed receive took, so that one is there.
    for (int i = 1; i <= peers; ++i) MPI_Recv(values[1], 2, MPI_INT, i, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    took("freed", 0, 1, values[0][0]);
    for (int i = 1; i <= kSlots; ++i) MPI_Request_free(&requests[i]);
  } else {
    int value[2];
    for (int round = 0; round < kRounds; ++round) {
      value[0] = value[1] = round;
      if (world_rank == 1) MPI_Send(value, 2, MPI_INT, 0, 5, MPI_COMM_WORLD);
      for (int i = 0; i < kSlots; ++i) {
        jitter(150);
        value[0] = world_rank;
        value[1] = round * 10 + i;
        MPI_Send(value, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
      }
      MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    value[0] = world_rank;
    jitter(300);
    MPI_Send(value, 2, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Send(value, 2, MPI_INT, 0, 8, MPI_COMM_WORLD);
  }
  finish();
}
