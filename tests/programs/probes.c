// Probe, Mprobe, Iprobe and Improbe for anybody and any tag, messages of sizes that only the probe tells; Mrecv and
// Imrecv take what a probe found, in another order than it was found.
#include "common.h"

enum { kEach = 24, kMost = 3000 };

static int buffers[4][kMost];

static void receive(MPI_Status* found, const char* how) {
  int count;
  MPI_Get_count(found, MPI_INT, &count);
  MPI_Recv(buffers[0], count, MPI_INT, found->MPI_SOURCE, found->MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  took(how, found->MPI_SOURCE, found->MPI_TAG, buffers[0][count - 1]);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (world_rank == 0) {
    MPI_Status status;
    int flag, polls = 0, left = kEach * (world_size - 1);
    for (int turn = 0; left > 0; ++turn) {
      switch (turn % 5) {
        case 0:
          MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
          receive(&status, "probe");
          --left;
          break;
        case 1:
          do {
            ++polls;
            MPI_Iprobe(MPI_ANY_SOURCE, turn % 2 ? MPI_ANY_TAG : 1, MPI_COMM_WORLD, &flag, &status);
            if (!flag && polls % 50 == 0 && turn % 2 == 0) break;  // perhaps none with this tag is left
          } while (!flag);
          fold((uint64_t)polls);
          say("polls %d", polls);
          if (flag) {
            receive(&status, "iprobe");
            --left;
          }
          break;
        case 2: {
          MPI_Message message;
          int count;
          MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
          MPI_Get_count(&status, MPI_INT, &count);
          MPI_Mrecv(buffers[0], count, MPI_INT, &message, MPI_STATUS_IGNORE);
          took("mprobe", status.MPI_SOURCE, status.MPI_TAG, buffers[0][count - 1]);
          --left;
          break;
        }
        case 3: {
          // Up to three messages are taken out of the queue first and received afterwards, the last one first.
          MPI_Message messages[3];
          MPI_Request requests[3];
          int counts[3], found = 0;
          for (int tries = 0; tries < 40 && found < 3 && found < left; ++tries) {
            MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &messages[found], &status);
            if (!flag) continue;
            MPI_Get_count(&status, MPI_INT, &counts[found]);
            say("improbe %d after %d", status.MPI_SOURCE, tries);
            ++found;
          }
          for (int i = found - 1; i >= 0; --i)
            MPI_Imrecv(buffers[i], counts[i], MPI_INT, &messages[i], &requests[i]);
          MPI_Waitall(found, requests, MPI_STATUSES_IGNORE);
          for (int i = 0; i < found; ++i) took("improbe", i, 0, buffers[i][counts[i] - 1]);
          left -= found;
          break;
        }
        default:
          // A wildcard receive is pending while a probe looks: what the probe shows is not the receive's.
          if (left >= 2) {
            MPI_Request request;
            MPI_Irecv(buffers[1], kMost, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            receive(&status, "behind");
            MPI_Wait(&request, &status);
            took("before", status.MPI_SOURCE, status.MPI_TAG, buffers[1][0]);
            left -= 2;
          }
      }
    }
  } else {
    for (int i = 0; i < kEach; ++i) {
      const int count = 1 + (i * 37 + world_rank * 11) % (i % 6 == 5 ? kMost : 20);
      jitter(150);
      for (int k = 0; k < count; ++k) buffers[0][k] = world_rank * 1000 + i;
      MPI_Send(buffers[0], count, MPI_INT, 0, 1 + i % 3, MPI_COMM_WORLD);
    }
  }
  finish();
}
