// A thousand call sites in each of two rounds, wildcards and not: tables of call sites must grow and stay right.
#include "common.h"

#define TEN(x) x x x x x x x x x x
#define THOUSAND(x) TEN(TEN(TEN(x)))

static int value;
static MPI_Status status;

static void receive_round(void) {
  THOUSAND({
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    fold((uint64_t)(status.MPI_SOURCE * 1000 + value));
  })
}

static void send_round(void) {
  THOUSAND({
    value = (value + 7) % 1000;
    MPI_Send(&value, 1, MPI_INT, 0, value % 3, MPI_COMM_WORLD);
  })
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int round = 0; round < 2; ++round) {
    if (world_rank == 0)
      for (int i = 1; i < world_size; ++i) {
        receive_round();
        say("round %d digest %016llx", round, (unsigned long long)digest);
      }
    else {
      jitter(500);
      send_round();
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  finish();
}
