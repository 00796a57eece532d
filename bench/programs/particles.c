// Particles that move between ranks; a receiver learns from a probe who sends how many: particles DIR STEPS
#include "bench.h"

enum { kMost = 64, kReach = 2 };

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long steps = atol(argv[2]);
  static double out[2 * kReach][kMost], in[kMost];
  uint32_t state = (uint32_t)rank + 1;
  double mass = 0;
  for (long step = 0; step < steps; ++step) {
    MPI_Request sends[2 * kReach];
    for (int i = 0; i < 2 * kReach; ++i) {
      const int distance = i < kReach ? i + 1 : kReach - i - 1;
      const int count = 1 + (int)(next_random(&state) % kMost);
      for (int k = 0; k < count; ++k) out[i][k] = k + rank;
      // A neighbour is at most one step ahead, so two tags in turn keep the steps apart; three are on the safe side.
      MPI_Isend(out[i], count, MPI_DOUBLE, ((rank + distance) % size + size) % size, (int)(step % 3), MPI_COMM_WORLD,
                &sends[i]);
      busy(next_random(&state) % 200);
    }
    for (int i = 0; i < 2 * kReach; ++i) {
      MPI_Status status;
      int count;
      MPI_Probe(MPI_ANY_SOURCE, (int)(step % 3), MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_DOUBLE, &count);
      MPI_Recv(in, count, MPI_DOUBLE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      for (int k = 0; k < count; ++k) mass = mass * 0.999 + in[k];
    }
    MPI_Waitall(2 * kReach, sends, MPI_STATUSES_IGNORE);
    calls += 2 * kReach * 4 + 1;
    wildcards += 2 * kReach;
  }
  fclose(end(argv[1]));
  MPI_Finalize();
  return mass != mass;
}
