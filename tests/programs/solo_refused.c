// A window: what one-sided communication brings to a rank is not among its recorded values yet.
#include "common.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  int memory = world_rank;
  MPI_Win window;
  MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  finish();
}
