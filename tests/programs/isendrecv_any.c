// MPI 4: Isendrecv and Isendrecv_replace, from anybody and from named sources, completed by every kind of call. Their
// statuses are not looked at: MPICH 4.0 leaves them empty.
#include "common.h"

enum { kRounds = 24 };

int main(int argc, char** argv) {
  start(&argc, &argv);
#if MPI_VERSION >= 4
  const int n = world_size - 1;
  for (int round = 0; round < kRounds; ++round) {
    if (world_rank == 0) {
      MPI_Request requests[64];
      int values[64], told[64], index, flag, count, indices[64];
      for (int i = 0; i < n; ++i) {
        const int source = round % 3 ? MPI_ANY_SOURCE : i + 1;
        told[i] = (int)(digest & 0xff);
        if (i % 2) {
          values[i] = told[i];
          MPI_Isendrecv_replace(&values[i], 1, MPI_INT, i + 1, 2, source, 1, MPI_COMM_WORLD, &requests[i]);
        } else {
          MPI_Isendrecv(&told[i], 1, MPI_INT, i + 1, 2, &values[i], 1, MPI_INT, source, 1, MPI_COMM_WORLD,
                        &requests[i]);
        }
      }
      switch (round % 4) {
        case 0:
          for (int i = 0; i < n; ++i) {
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
            took("any", index, 1, values[index]);
          }
          break;
        case 1:
          do MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
          while (!flag);
          break;
        case 2:
          for (int done = 0; done < n; done += count) {
            MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
            for (int i = 0; i < count; ++i) took("some", indices[i], 1, values[indices[i]]);
          }
          break;
        default: MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
      }
      for (int i = 0; i < n; ++i) took("got", i, 1, values[i]);
    } else {
      int answer, value = world_rank * 100 + round;
      jitter(200);
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      MPI_Recv(&answer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      took("told", 0, 2, answer);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
#endif
  finish();
}
