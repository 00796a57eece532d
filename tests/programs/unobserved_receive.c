// Two wildcard receives are pending and only the second is waited for: the first took a message all the same. A replay
// that leaves it out gives the second one the wrong message. Ends by MPI_Abort (argument "abort") or exit (argument
// "exit") with the first ones never completed; otherwise they are waited for in the end, long after they were posted.
#include "common.h"

enum { kRounds = 8, kLater = 3 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  const char* end = argc > 2 ? argv[2] : "finalize";
  if (world_rank == 0) {
    static int first[kRounds * 64];
    static MPI_Request unobserved[kRounds * 64];
    const int rounds = kRounds * (world_size - 1);
    for (int round = 0; round < rounds; ++round) {
      int second, value;
      MPI_Request observed;
      MPI_Status status;
      first[round] = -1;
      MPI_Irecv(&first[round], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &unobserved[round]);
      MPI_Irecv(&second, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &observed);
      MPI_Wait(&observed, &status);
      took("second", status.MPI_SOURCE, status.MPI_TAG, second);
      for (int i = 0; i < kLater; ++i) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        took("later", status.MPI_SOURCE, status.MPI_TAG, value);
      }
    }
    if (strcmp(end, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(end, "exit") == 0) exit(5);
    MPI_Waitall(rounds, unobserved, MPI_STATUSES_IGNORE);
    for (int round = 0; round < rounds; ++round) took("first", 0, round, first[round]);
  } else {
    for (int i = 0; i < kRounds * (kLater + 2); ++i) send_stream(1, 1 + i % 2, 250);
  }
  finish();
}
