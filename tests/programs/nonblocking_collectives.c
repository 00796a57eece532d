// Nonblocking collectives completed by tests: how often a test fails is what the program does meanwhile. Others complete
// in an order that Waitany reports; MPI_IN_PLACE is among them.
#include "common.h"

enum { kRounds = 15, kMany = 64 };

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Request requests[5];
    int flag = 0, polls = 0, index;
    jitter(300);
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[0]);
    while (!flag) {
      ++polls;
      MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE);
    }
    fold((uint64_t)polls);
    say("barrier polls %d", polls);

    int sum[2] = {(int)(digest & 0xff), world_rank}, all[kMany], mine = polls % 100, root = round, gathered[kMany], scan;
    for (int i = 0; i < kMany; ++i) all[i] = 0;
    all[world_rank] = polls % 50;
    MPI_Iallreduce(MPI_IN_PLACE, sum, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD, &requests[1]);
    MPI_Ibcast(&root, 1, MPI_INT, round % world_size, MPI_COMM_WORLD, &requests[2]);
    MPI_Igather(&mine, 1, MPI_INT, gathered, 1, MPI_INT, 0, MPI_COMM_WORLD, &requests[3]);
    MPI_Iexscan(&mine, &scan, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[4]);
    for (int i = 0; i < 5; ++i) {
      if (round % 2) {
        MPI_Waitany(5, requests, &index, MPI_STATUS_IGNORE);
        fold((uint64_t)index);
        say("index %d", index);
      } else {
        do {
          ++polls;
          MPI_Testany(5, requests, &index, &flag, MPI_STATUS_IGNORE);
        } while (!flag);
        say("index %d polls %d", index, polls);
      }
    }
    say("sum %d %d", sum[0], sum[1]);
    for (int i = 0; i < world_size; ++i) fold((uint64_t)all[i] + (world_rank == 0 ? (uint64_t)gathered[i] : 0));
    if (world_rank > 0) fold((uint64_t)scan);
  }
  finish();
}
