// Halo exchange on a ring; each rank takes its halos as they come, by Waitsome: waitsome_halo DIR STEPS [CELLS]
#include "bench.h"

enum { kFewCells = 1024, kMostCells = 1 << 20, kHalo = 64 };

static double field[kMostCells + 2 * kHalo], halo_in[2][kHalo], halo_out[2][kHalo];

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long steps = atol(argv[2]), cells = argc > 3 ? atol(argv[3]) : kFewCells;
  if (cells < kHalo || cells > kMostCells) return 2;
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  const int peers[2] = {left, right};
  for (long i = 0; i < cells + 2 * kHalo; ++i) field[i] = rank + i * 1e-3;
  for (long step = 0; step < steps; ++step) {
    MPI_Request requests[4];
    memcpy(halo_out[0], field + kHalo, sizeof halo_out[0]);
    memcpy(halo_out[1], field + cells, sizeof halo_out[1]);
    for (int side = 0; side < 2; ++side)
      MPI_Irecv(halo_in[side], kHalo, MPI_DOUBLE, peers[side], 1 - side, MPI_COMM_WORLD, &requests[side]);
    for (int side = 0; side < 2; ++side)
      MPI_Isend(halo_out[side], kHalo, MPI_DOUBLE, peers[side], side, MPI_COMM_WORLD, &requests[2 + side]);
    calls += 4;
    for (long i = kHalo + 1; i < cells + kHalo - 1; ++i)
      field[i] += 0.25 * (field[i - 1] - 2 * field[i] + field[i + 1]);
    for (int open = 4; open > 0;) {
      int count, indices[4];
      MPI_Status statuses[4];
      MPI_Waitsome(4, requests, &count, indices, statuses);
      ++calls;
      open -= count;
      for (int i = 0; i < count; ++i)
        if (indices[i] < 2) memcpy(field + (indices[i] ? cells + kHalo : 0), halo_in[indices[i]], sizeof halo_in[0]);
    }
  }
  fclose(end(argv[1]));
  MPI_Finalize();
  return field[cells / 2] != field[cells / 2];
}
