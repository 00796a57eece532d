// Halo exchange on a ring; each rank takes its halos as they come, by Waitsome: waitsome_halo DIR STEPS
#include "bench.h"

enum { kCells = 1024, kHalo = 64 };

static double field[kCells + 2 * kHalo], halo_in[2][kHalo], halo_out[2][kHalo];

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long steps = atol(argv[2]);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int peers[2] = {left, right};
  for (int i = 0; i < kCells + 2 * kHalo; ++i) field[i] = rank + i * 1e-3;
  for (long step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    memcpy(halo_out[0], field + kHalo, sizeof halo_out[0]);
    memcpy(halo_out[1], field + kCells, sizeof halo_out[1]);
    for (int side = 0; side < 2; ++side)
      MPI_Irecv(halo_in[side], kHalo, MPI_DOUBLE, peers[side], 1 - side, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < 2; ++side)
      MPI_Isend(halo_out[side], kHalo, MPI_DOUBLE, peers[side], side, MPI_COMM_WORLD, &requests[2 + side]);
    calls += 4;
    for (int i = kHalo + 1; i < kCells + kHalo - 1; ++i)
      field[i] += 0.25 * (field[i - 1] - 2 * field[i] + field[i + 1]);
    for (int open = 4; open > 0;) {
      int count, indices[4];
      MPI_Status statuses[4];
      MPI_Waitsome(4, requests, &count, indices, statuses);
      ++calls;
      open -= count;
      for (int i = 0; i < count; ++i)
        if (indices[i] < 2) memcpy(field + (indices[i] ? kCells + kHalo : 0), halo_in[indices[i]], sizeof halo_in[0]);
    }
  }
  fclose(end(argv[1]));
  MPI_Finalize();
  return field[kCells / 2] != field[kCells / 2];
}
