// Blocking receives: any source and any tag; any source with two tags in turn; one source with any tag.
#include "common.h"

enum { kEach = 15 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Status status;
  int value;
  if (world_rank == 0) {
    for (int i = 0; i < 2 * kEach * (world_size - 1); ++i) {
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
      took("any", status.MPI_SOURCE, status.MPI_TAG, value);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kEach * (world_size - 1); ++i)
      for (int tag = 6; tag >= 5; --tag) {
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        took("tagged", status.MPI_SOURCE, status.MPI_TAG, value);
      }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kEach; ++i)
      for (int source = 1; source < world_size; ++source) {
        MPI_Recv(&value, 1, MPI_INT, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        took("from", status.MPI_SOURCE, status.MPI_TAG, value);
      }
  } else {
    for (int i = 0; i < kEach; ++i) {
      send_stream(1, 1 + i % 3, 200);
      send_stream(1, 9, 200);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kEach; ++i) {
      send_stream(1, 5, 200);
      send_stream(1, 6, 200);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kEach; ++i) send_stream(1, i % 4, 50);
  }
  finish();
}
