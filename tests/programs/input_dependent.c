// What it does depends on a word that it reads from a file, so a replay with another word must be found out:
//
//   input_dependent DIR FILE
//
//   normal    N rounds of wildcard receives
//   call      rank 0 probes before the 7th receive
//   tag       rank 1 sends its 5th message with another tag, rank 0 accepts any tag
//   size      rank 1's 5th message is longer
//   peer      rank 1 sends its 5th message to rank 2, which receives it
//   more      rank 0 makes one more call in the middle
//   fewer     rank 1 stops sending after 5 messages and waits for a word that never comes
//   early     rank 1 finalizes after 5 messages
//   exit      rank 1 exits after 5 messages
//   colour    the last rank splits off with another colour, so that what it sends reaches nobody who waits for it
#include "common.h"

enum { kEach = 10 };

static char word[32] = "normal";
static MPI_Comm comm;

static int is(const char* what) { return strcmp(word, what) == 0; }

static void master(void) {
  int values[2];
  MPI_Status status;
  for (int i = 0; i < kEach * (world_size - 1); ++i) {
    if (i == 6 && is("call")) MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    if (i == 6 && is("more")) MPI_Send(values, 0, MPI_INT, MPI_PROC_NULL, 1, comm);
    MPI_Recv(values, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
    took("any", status.MPI_SOURCE, status.MPI_TAG, values[0]);
  }
}

static void worker(void) {
  for (int i = 0; i < kEach; ++i) {
    int values[2] = {world_rank * 1000 + i, 0};
    const int odd = world_rank == 1 && i == 4;
    jitter(200);
    if (odd && is("fewer")) MPI_Recv(values, 1, MPI_INT, 0, 77, comm, MPI_STATUS_IGNORE);
    if (odd && is("exit")) exit(0);
    if (odd && is("early")) {
      MPI_Finalize();
      exit(0);
    }
    MPI_Send(values, odd && is("size") ? 2 : 1, MPI_INT, odd && is("peer") ? 2 : 0, odd && is("tag") ? 9 : 1,
             comm);
    if (world_rank == 2 && i == 4 && is("peer"))
      MPI_Recv(values, 1, MPI_INT, 1, 1, comm, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  FILE* input = argc > 2 ? fopen(argv[2], "r") : NULL;
  if (input) {
    if (fscanf(input, "%31s", word) != 1) die("input");
    fclose(input);
  }
#ifdef VARIANT
  say("variant %d", VARIANT);
#endif
  MPI_Comm_split(MPI_COMM_WORLD, is("colour") && world_rank == world_size - 1, world_rank, &comm);
  if (world_rank == 0)
    master();
  else
    worker();
  MPI_Comm_free(&comm);
  finish();
}
