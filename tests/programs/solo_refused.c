// A window whose memory others store to without any call: what they store is not among a rank's recorded values.
#include "common.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  int* memory;
  MPI_Win window;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_fence(0, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  finish();
}
