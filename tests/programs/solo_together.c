// Who was first, among ranks that are replayed side by side: every rank writes to one common file what it is about to send
// or to begin, and what it has received or ended. Sending is slow, receiving is not: without an order between the ranks,
// what was received would stand before it was sent.
#include "common.h"

enum { kRounds = 20, kTags = 3 };

static int order_fd = -1;

// One line of the common file: what, from whom, to whom, the how manieth.
static void note(const char* what, int from, int to, int number) {
  char line[64];
  int length = snprintf(line, sizeof line, "%s %d %d %d\n", what, from, to, number);
  if (write(order_fd, line, (size_t)length) != length) die("write");
}

static void slow_send(int to, int tag, int number) {
  jitter(2000);
  note("send", world_rank, to, number);
  MPI_Send(&number, 1, MPI_INT, to, tag, MPI_COMM_WORLD);
}

static void heard(const char* how, const MPI_Status* status, int number) {
  note("receive", status->MPI_SOURCE, world_rank, number);
  took(how, status->MPI_SOURCE, status->MPI_TAG, number);
}

// Everybody to rank 0, which takes them as they come.
static void to_master(int round) {
  int number;
  MPI_Status status;
  if (world_rank != 0) slow_send(0, 1, round);
  for (int i = 1; world_rank == 0 && i < world_size; ++i) {
    if (i % 2) MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(&number, 1, MPI_INT, i % 2 ? status.MPI_SOURCE : MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    heard("master", &status, number);
  }
}

// Round a ring, several at once; the receiver looks at the last one first.
static void round_ring(int round) {
  const int next = (world_rank + 1) % world_size, before = (world_rank + world_size - 1) % world_size;
  int numbers[kTags];
  MPI_Request requests[kTags];
  MPI_Status status;
  for (int i = 0; i < kTags; ++i)
    MPI_Irecv(&numbers[i], 1, MPI_INT, before, i == 1 ? MPI_ANY_TAG : 2, MPI_COMM_WORLD, &requests[i]);
  for (int i = 0; i < kTags; ++i) slow_send(next, 2, 1000 + round * kTags + i);
  for (int i = kTags - 1; i >= 0; --i) {
    MPI_Wait(&requests[i], &status);
    heard("ring", &status, numbers[i]);
  }
}

static void collectives(int round, MPI_Comm comm) {
  int rank, size, value = round;
  MPI_Request request;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int root = round % size;
  if (rank == root) jitter(2000);
  note("broadcast", root, rank, round);
  MPI_Bcast(&value, 1, MPI_INT, root, comm);
  if (rank != root) note("broadcast-ended", root, rank, round);
  jitter(500);
  note("enter", rank, size, round);
  if (round % 3 == 0) {
    MPI_Barrier(comm);
  } else if (round % 3 == 1) {
    int sum;
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("sum %d", sum);
  } else {
    MPI_Ibarrier(comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  note("leave", rank, size, round);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  char path[4096];
  snprintf(path, sizeof path, "%s/order.log", out_dir);
  if ((order_fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666)) < 0) die(path);
  MPI_Comm copy;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  for (int round = 0; round < kRounds; ++round) {
    to_master(round);
    round_ring(round);
    collectives(round, copy);
  }
  MPI_Comm_free(&copy);
  finish();
}
