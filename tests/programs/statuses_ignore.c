// Every completing call with MPI_STATUS(ES)_IGNORE: the sender shows only in the data.
#include "common.h"

enum { kEach = 30, kSlots = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    for (int i = 0; i < kEach * (world_size - 1) / kSlots; ++i) {
      MPI_Request requests[kSlots];
      int values[kSlots], indices[kSlots], flag = 0, count = 0;
      if (i % 7 == 0) {
        for (int k = 0; k < kSlots; ++k)
          MPI_Recv(&values[k], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        for (int k = 0; k < kSlots; ++k)
          MPI_Irecv(&values[k], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[k]);
      }
      switch (i % 7) {
        case 1:
          for (int k = 0; k < kSlots; ++k) MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
          break;
        case 2: MPI_Waitall(kSlots, requests, MPI_STATUSES_IGNORE); break;
        case 3:
          for (int k = 0, index; k < kSlots; ++k) {
            MPI_Waitany(kSlots, requests, &index, MPI_STATUS_IGNORE);
            say("index %d", index);
          }
          break;
        case 4:
          for (int done = 0; done < kSlots; done += count) {
            MPI_Waitsome(kSlots, requests, &count, indices, MPI_STATUSES_IGNORE);
            say("some %d first %d", count, indices[0]);
          }
          break;
        case 5:
          for (int k = 0; k < kSlots; ++k) {
            int polls = 0;
            for (flag = 0; !flag; ++polls) MPI_Test(&requests[k], &flag, MPI_STATUS_IGNORE);
            say("polls %d", polls);
          }
          break;
        case 6:
          for (int done = 0, polls = 0; done < kSlots; ++polls) {
            MPI_Testsome(kSlots, requests, &count, indices, MPI_STATUSES_IGNORE);
            done += count;
            if (count) say("some %d after %d", count, polls);
          }
          break;
        default: break;
      }
      for (int k = 0; k < kSlots; ++k) took("got", 0, 0, values[k]);
    }
  } else {
    send_stream(kEach, 1, 200);
  }
  finish();
}
