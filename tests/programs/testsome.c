// Testsome in a loop: empty answers in a row, then how many and which.
#include "common.h"

enum { kEach = 30, kSlots = 5 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    const int total = kEach * (world_size - 1);
    MPI_Request requests[kSlots];
    MPI_Status statuses[kSlots];
    int values[kSlots], indices[kSlots], posted = 0, count;
    for (int i = 0; i < kSlots; ++i, ++posted)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
    for (int done = 0, polls = 0; done < total;) {
      MPI_Testsome(kSlots, requests, &count, indices, statuses);
      if (count == 0) {
        if (++polls % 64 == 0) jitter(500);
        continue;
      }
      fold((uint64_t)polls);
      say("some %d after %d failures", count, polls);
      polls = 0;
      for (int i = 0; i < count; ++i, ++done) {
        const int slot = indices[i];
        fold((uint64_t)slot);
        say("index %d", slot);
        took("any", statuses[i].MPI_SOURCE, statuses[i].MPI_TAG, values[slot]);
        if (posted < total) {
          ++posted;
          MPI_Irecv(&values[slot], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[slot]);
        }
      }
    }
    MPI_Testsome(kSlots, requests, &count, indices, statuses);
    say("all null: %s", count == MPI_UNDEFINED ? "undefined" : "a count");
  } else {
    for (int i = 0; i < kEach; ++i) send_stream(1, i % 2, 200);
  }
  finish();
}
