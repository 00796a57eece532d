// Rank 1 waits for a variable of its window to change, without any call of MPI in between.
#include "common.h"

int main(int argc, char** argv) {
  int* memory;
  MPI_Win window;
  start(&argc, &argv);
  MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  *memory = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  if (world_rank == 0) {
    const int seven = 7;
    usleep(50000);  // rank 1 is in its loop by then, most probably
    MPI_Put(&seven, 1, MPI_INT, 1, 0, 1, MPI_INT, window);
    MPI_Win_flush(1, window);
  }
  while (world_rank == 1 && *(volatile int*)memory == 0) {
  }
  say("saw %d", *memory);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  finish();
}
