// Rank 0 polls for each message with Test: test_polling DIR MESSAGES poll|wait
//
// It reports the order-0 entropy of the failure counts: the least that a coder without memory could spend on them.
// "wait" is the same traffic without polls; the difference between the two traces is what the polls cost.
#include "bench.h"

enum { kBins = 1 << 20 };

static uint64_t polls, histogram[kBins];

static void receive(long messages, int polling) {
  for (long i = 0; i < messages; ++i) {
    uint64_t value, failures = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_UINT64_T, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
    if (polling) {
      for (int flag = 0;; ++failures) {
        MPI_Test(&request, &flag, &status);
        if (flag) break;
      }
    } else {
      MPI_Wait(&request, &status);
    }
    calls += 2 + failures;
    polls += failures + 1;
    ++wildcards;
    ++histogram[failures < kBins ? failures : kBins - 1];
  }
}

static void send(long messages) {
  const long mine = messages / (size - 1) + (rank - 1 < messages % (size - 1) ? 1 : 0);
  uint32_t random = 12345u + (uint32_t)rank;
  for (long i = 1; i <= mine; ++i) {
    uint64_t value = (uint64_t)i;
    busy(next_random(&random) % 4000);
    MPI_Send(&value, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
    ++calls;
  }
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long messages = atol(argv[2]);
  if (rank == 0)
    receive(messages, argc > 3 && strcmp(argv[3], "poll") == 0);
  else
    send(messages);
  FILE* stats = end(argv[1]);
  double bits = 0;
  for (int i = 0; i < kBins; ++i)
    if (histogram[i]) bits -= (double)histogram[i] * log2((double)histogram[i] / (double)messages);
  fprintf(stats, "polls %llu\nentropy_bytes %.1f\n", (unsigned long long)polls, bits / 8);
  fclose(stats);
  MPI_Finalize();
}
