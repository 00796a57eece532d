// Testany in a loop: failures before each success, and which request it was.
#include "common.h"

enum { kEach = 25, kSlots = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    const int total = kEach * (world_size - 1);
    MPI_Request requests[kSlots];
    int values[kSlots], posted = 0, index, flag;
    MPI_Status status;
    for (int i = 0; i < kSlots; ++i, ++posted)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
    for (int done = 0, polls = 0; done < total;) {
      MPI_Testany(kSlots, requests, &index, &flag, &status);
      if (!flag) {
        ++polls;
        continue;
      }
      fold((uint64_t)(polls * kSlots + index));
      say("index %d after %d failures", index, polls);
      took("any", status.MPI_SOURCE, status.MPI_TAG, values[index]);
      polls = 0;
      ++done;
      if (posted < total) {
        ++posted;
        MPI_Irecv(&values[index], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[index]);
      }
    }
    MPI_Testany(kSlots, requests, &index, &flag, &status);
    say("all null: flag %d, %s", flag, index == MPI_UNDEFINED ? "undefined" : "an index");
  } else {
    send_stream(kEach, 1, 300);
  }
  finish();
}
