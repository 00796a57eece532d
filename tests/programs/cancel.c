// Cancelled receives, specific and from anybody, persistent ones too: whether the message came first is a race. If it was
// too late for the cancelled receive, the next one gets the message.
#include "common.h"

enum { kRounds = 40 };

static int finish_cancel(MPI_Request* request, int round, int* value, int again_from) {
  MPI_Status status;
  int cancelled, flag = 0;
  MPI_Cancel(request);
  if (round % 2) {
    MPI_Wait(request, &status);
  } else {
    while (!flag) MPI_Test(request, &flag, &status);
  }
  MPI_Test_cancelled(&status, &cancelled);
  if (cancelled) MPI_Recv(value, 1, MPI_INT, again_from, 1, MPI_COMM_WORLD, &status);
  took(cancelled ? "cancelled" : "came first", status.MPI_SOURCE, status.MPI_TAG, *value);
  return cancelled;
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  int tally = 0;
  if (world_rank == 0) {
    MPI_Request request, persistent, any;
    int value;
    MPI_Recv_init(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &persistent);
    MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &any);
    for (int round = 0; round < kRounds; ++round) {
      for (int source = 1; source < world_size; ++source) {
        const int wild = (round + source) % 2;
        const int from = wild ? MPI_ANY_SOURCE : source;
        if (round % 4 == 3 && (wild || source == 1)) {
          MPI_Request* used = wild ? &any : &persistent;
          MPI_Start(used);
          jitter(120);
          tally += finish_cancel(used, round, &value, from);
        } else {
          MPI_Irecv(&value, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
          jitter(120);
          tally += finish_cancel(&request, round, &value, from);
        }
        if (wild) {
          // It may have heard another sender than the specific receives of this round expect: let all come first.
          for (int rest = source + 1; rest < world_size; ++rest) {
            MPI_Status status;
            MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
            took("rest", status.MPI_SOURCE, status.MPI_TAG, value);
          }
          break;
        }
        // So that no message of a later source can be taken for this one's.
      }
      // A receive that nothing ever matches, cancelled and freed, or cancelled and waited for.
      MPI_Irecv(&value, 1, MPI_INT, round % 2 ? 1 : MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &request);
      MPI_Cancel(&request);
      if (round % 3) MPI_Request_free(&request);
      else MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Barrier(MPI_COMM_WORLD);
    }
    say("tally %d", tally);
    MPI_Request_free(&persistent);
    MPI_Request_free(&any);
  } else {
    for (int round = 0; round < kRounds; ++round) {
      int value = world_rank * 1000 + round;
      jitter(120);
      MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
  finish();
}
