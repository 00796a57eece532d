// Wildcards on duplicates, splits, created and Cartesian communicators, interleaved: sources are ranks of the
// communicator, and every communicator matches apart. Made, freed and made again, so handles may be reused.
#include "common.h"

enum { kEach = 5, kComms = 5 };

static void make(MPI_Comm comms[kComms]) {
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_split(MPI_COMM_WORLD, world_rank < 3 ? 0 : 1, -world_rank, &comms[1]);
  MPI_Group world, part;
  int ranks[64];
  for (int i = 0; i < world_size; ++i) ranks[i] = (i + 1) % world_size;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, world_size, ranks, &part);
  MPI_Comm_create(MPI_COMM_WORLD, part, &comms[2]);
  MPI_Group_free(&part);
  MPI_Group_free(&world);
  int dims[1] = {world_size}, periods[1] = {1};
  MPI_Cart_create(comms[2], 1, dims, periods, 0, &comms[3]);
  MPI_Comm_dup(comms[1], &comms[4]);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int round = 0; round < 3; ++round) {
    MPI_Comm comms[kComms];
    MPI_Request requests[kComms * 64];
    int values[kComms * 64], owner[kComms * 64], n = 0;
    make(comms);
    for (int i = 0; i < kEach; ++i)
      for (int c = 0; c < kComms; ++c) {
        int rank, size;
        MPI_Comm_rank(comms[c], &rank);
        MPI_Comm_size(comms[c], &size);
        if (rank == 0) {
          for (int k = 0; k < size - 1; ++k) {
            owner[n] = c;
            MPI_Irecv(&values[n], 1, MPI_INT, MPI_ANY_SOURCE, c, comms[c], &requests[n]);
            ++n;
          }
        } else {
          jitter(150);
          int value = world_rank * 1000 + i * 10 + c;
          MPI_Send(&value, 1, MPI_INT, 0, c, comms[c]);
        }
      }
    for (int done = 0; done < n; ++done) {
      int index;
      MPI_Status status;
      MPI_Waitany(n, requests, &index, &status);
      say("comm %d index %d", owner[index], index);
      took("any", status.MPI_SOURCE, status.MPI_TAG, values[index]);
    }
    for (int c = kComms - 1; c >= 0; --c) MPI_Comm_free(&comms[c]);
  }
  finish();
}
