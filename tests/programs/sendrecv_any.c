// Sendrecv and Sendrecv_replace whose receive half hears anybody, with any tag; small and large messages.
#include "common.h"

enum { kRounds = 25, kLarge = 20000 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  static int out[kLarge], in[kLarge];
  for (int round = 0; round < kRounds; ++round) {
    const int large = round % 5 == 4;
    const int count = large ? kLarge : 1;
    if (world_rank == 0) {
      // Answers each worker's question with the sender that was heard before.
      MPI_Status status;
      int last = MPI_PROC_NULL;
      for (int i = 0; i < world_size - 1; ++i) {
        out[0] = (int)(digest & 0xffff);
        MPI_Sendrecv(out, 1, MPI_INT, last, 7, in, count, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        took("asked", status.MPI_SOURCE, status.MPI_TAG, in[0]);
        last = status.MPI_SOURCE;
      }
      MPI_Send(out, 1, MPI_INT, last, 7, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);  // receives with any tag must not take what comes next
      // All workers send once more; nobody waits for an answer.
      for (int i = 0; i < world_size - 1; ++i) {
        out[0] = i;
        MPI_Sendrecv_replace(out, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD,
                             i % 2 ? MPI_STATUS_IGNORE : &status);
        took("replaced", i % 2 ? -1 : status.MPI_SOURCE, 3, out[0]);
      }
    } else {
      jitter(200);
      out[0] = world_rank * 1000 + round;
      MPI_Request request;
      MPI_Isend(out, count, MPI_INT, 0, 10 + round % 3, MPI_COMM_WORLD, &request);
      int answer;
      MPI_Recv(&answer, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      took("answer", 0, 7, answer);
      MPI_Barrier(MPI_COMM_WORLD);
      jitter(200);
      int value = world_rank * 1000 + answer % 7;
      MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    }
  }
  finish();
}
