// Ends in a chosen way after a few calls: exit_status DIR N (exit status N after MPI_Finalize), exit_status DIR -N
// (signal N), exit_status DIR N early (exit without MPI_Finalize).
#include <signal.h>

#include "common.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const int how = argc > 2 ? atoi(argv[2]) : 0;
  MPI_Barrier(MPI_COMM_WORLD);
  say("ending with %d", how);
  if (how < 0) raise(-how);
  if (argc > 3) exit(how);
  MPI_Finalize();
  return how;
}
