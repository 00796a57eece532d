// 64 bytes there and back again between ranks 0 and 1: ping_pong DIR ROUNDS
#include "bench.h"

int main(int argc, char** argv) {
  char ping[64] = "ping";
  begin(&argc, &argv);
  const long rounds = atol(argv[2]);
  for (long i = 0; i < rounds && rank < 2; ++i) {
    ping[8] = (char)i;
    if (rank == 0) MPI_Send(ping, sizeof ping, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(ping, sizeof ping, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(ping, sizeof ping, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    calls += 2;
  }
  fclose(end(argv[1]));
  MPI_Finalize();
}
