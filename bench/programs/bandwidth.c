// Messages of 64 KiB whose content is new each time, from rank 0 to the others: bandwidth DIR MESSAGES
#include "bench.h"

enum { kWords = 8192 };

static uint64_t message[kWords];

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long messages = atol(argv[2]);
  uint64_t state = 88172645463325252u, sum = 0;
  for (long i = 0; i < messages; ++i) {
    if (rank == 0) {
      for (int k = 0; k < kWords; ++k) {  // xorshift: nothing that could be compressed
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        message[k] = state;
      }
      for (int to = 1; to < size; ++to) MPI_Send(message, kWords, MPI_UINT64_T, to, 0, MPI_COMM_WORLD);
      calls += (uint64_t)size - 1;
    } else {
      MPI_Recv(message, kWords, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      ++calls;
      sum += message[i % kWords];
    }
  }
  fprintf(stderr, "%s", sum == 1 ? "!" : "");  // it is needed
  fclose(end(argv[1]));
  MPI_Finalize();
}
