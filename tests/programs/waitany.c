// Waitany over wildcard receives that are posted again as they complete, a specific one among them.
#include "common.h"

enum { kEach = 40, kSlots = 4 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    const int total = kEach * (world_size - 1);
    MPI_Request requests[kSlots + 1];
    int values[kSlots + 1], posted = 0, done = 0;
    for (int i = 0; i < kSlots; ++i, ++posted)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[i]);
    MPI_Irecv(&values[kSlots], 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &requests[kSlots]);
    while (done < total + 1) {
      int index;
      MPI_Status status;
      MPI_Waitany(kSlots + 1, requests, &index, &status);
      ++done;
      fold((uint64_t)index);
      say("index %d", index);
      took("any", status.MPI_SOURCE, status.MPI_TAG, values[index]);
      if (index < kSlots && posted < total) {
        ++posted;
        MPI_Irecv(&values[index], 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &requests[index]);
      }
    }
    int index;
    MPI_Waitany(kSlots + 1, requests, &index, MPI_STATUS_IGNORE);
    say("all null: %s", index == MPI_UNDEFINED ? "undefined" : "an index");
  } else {
    send_stream(kEach / 2, 1, 200);
    if (world_rank == 1) send_stream(1, 2, 200);
    send_stream(kEach - kEach / 2, 1, 200);
  }
  finish();
}
