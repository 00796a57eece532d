// MPI 4: Isendrecv and Isendrecv_replace, completed in an order that Waitany reports. The receive half names its source:
// MPICH 4.0 tells nobody whom it heard otherwise.
#include "common.h"

enum { kRounds = 20 };

int main(int argc, char** argv) {
  start(&argc, &argv);
#if MPI_VERSION >= 4
  for (int round = 0; round < kRounds; ++round) {
    if (world_rank == 0) {
      MPI_Request requests[64];
      int values[64], told[64], index;
      const int n = world_size - 1;
      for (int i = 0; i < n; ++i) {
        told[i] = (int)(digest & 0xff);
        if (i % 2) {
          values[i] = told[i];
          MPI_Isendrecv_replace(&values[i], 1, MPI_INT, i + 1, 2, i + 1, 1, MPI_COMM_WORLD, &requests[i]);
        } else {
          MPI_Isendrecv(&told[i], 1, MPI_INT, i + 1, 2, &values[i], 1, MPI_INT, i + 1, 1, MPI_COMM_WORLD,
                        &requests[i]);
        }
      }
      for (int i = 0; i < n; ++i) {
        MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);  // its status tells nothing either
        took("heard", index, 1, values[index]);
      }
    } else {
      int answer, value = world_rank * 100 + round;
      jitter(200);
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      MPI_Recv(&answer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      took("told", 0, 2, answer);
    }
  }
#endif
  finish();
}
