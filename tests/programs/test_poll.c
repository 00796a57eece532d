// Test in a loop: the number of failures is part of the result. Some series are given up and end in Wait.
#include "common.h"

enum { kEach = 20, kPatience = 400 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    for (int i = 0; i < kEach * (world_size - 1); ++i) {
      MPI_Request request;
      MPI_Status status;
      int value, flag = 0, polls = 0;
      MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
      while (polls < kPatience || i % 2) {
        MPI_Test(&request, &flag, &status);
        if (flag) break;
        ++polls;
      }
      if (!flag) MPI_Wait(&request, &status);
      fold((uint64_t)polls);
      say("%s after %d failures", flag ? "true" : "gave up", polls);
      took("any", status.MPI_SOURCE, status.MPI_TAG, value);
    }
    MPI_Request none = MPI_REQUEST_NULL;
    int flag = 0;
    MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
    say("null request: %d", flag);
  } else {
    for (int i = 0; i < kEach; ++i) send_stream(1, i % 3, 400);
  }
  finish();
}
