// Hangs, in a way that the argument names. Says "hanging" when it is about to.
//
//   computing   rank 2 never comes to the barrier
//   circle      every rank waits for the next one
//   request     rank 0 waits for a request that nobody answers, the others are in a barrier
//   polling     the same, with MPI_Test
//
// Nobody hangs in MPI_Finalize: Open MPI's mpirun, ended then, crashes or hangs every fifth time, with or without
// Reprise.
#include "common.h"

int main(int argc, char** argv) {
  start(&argc, &argv);
  const char* how = argc > 2 ? argv[2] : "computing";
  int value = 0, done = 0;
  MPI_Request request;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  say("hanging");
  if (!strcmp(how, "computing")) {
    while (world_rank == 2) usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);  // LINE barrier
  } else if (!strcmp(how, "circle")) {
    int next = (world_rank + 1) % world_size;
    MPI_Recv(&value, 1, MPI_INT, next, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // LINE recv
  } else if (world_rank == 0) {
    MPI_Irecv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);  // LINE irecv
    if (!strcmp(how, "request")) MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);  // LINE test
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
