// Several requests tested in turn at one call site, then through copies of their handles at two sites. Failures belong
// to a request, not to a call site or to the address of a handle; a library that keys them wrongly fails here.
#include "common.h"

enum { kRounds = 12, kSlots = 4 };

static int poll_copy(MPI_Request request, MPI_Status* status) {
  int flag;
  MPI_Test(&request, &flag, status);
  return flag;
}

static void round_robin(int round, int through_copies) {
  MPI_Request requests[kSlots];
  MPI_Status status;
  int values[kSlots], polls[kSlots] = {0}, open = kSlots;
  for (int i = 0; i < kSlots; ++i)
    MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
  for (int turn = round; open > 0; ++turn) {
    const int i = turn % kSlots;
    if (requests[i] == MPI_REQUEST_NULL) continue;
    int flag;
    if (through_copies && turn % 3 == 0) {
      MPI_Request copy = requests[i];
      MPI_Test(&copy, &flag, &status);
    } else if (through_copies) {
      flag = poll_copy(requests[i], &status);
    } else {
      MPI_Test(&requests[i], &flag, &status);
    }
    if (!flag) {
      ++polls[i];
      continue;
    }
    requests[i] = MPI_REQUEST_NULL;
    --open;
    fold((uint64_t)(polls[i] * kSlots + i));
    say("%s request %d after %d failures", through_copies ? "copied" : "plain", i, polls[i]);
    took("any", status.MPI_SOURCE, status.MPI_TAG, values[i]);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0)
    for (int round = 0; round < kRounds * (world_size - 1); ++round) round_robin(round, round % 2);
  else
    for (int i = 0; i < kRounds * kSlots; ++i) send_stream(1, i % 3, 200);
  finish();
}
