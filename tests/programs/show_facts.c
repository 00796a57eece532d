// Traffic whose numbers are known beforehand, on the world, on halves of it and between the halves; named events.
#include "common.h"

#include <pthread.h>
#include <reprise/reprise.h>

#define TAG 7

// Worker r sends r messages of 4 bytes; rank 0 hears them in any order.
static void gather_any(void) {
  int value = world_rank;
  if (world_rank > 0) {
    for (int i = 0; i < world_rank; ++i) {
      jitter(300);
      MPI_Send(&value, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
    return;
  }
  for (int i = 0; i < world_size * (world_size - 1) / 2; ++i) {
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);  // LINE any
    took("any", status.MPI_SOURCE, status.MPI_TAG, value);
  }
}

// In each half, rank 0 sends 100 bytes to rank 1. Between the halves, rank 0 of the odd one sends 1000 bytes to rank 1
// of the even one.
static void halves(void) {
  char data[1000] = "";
  int odd = world_rank % 2, rank;
  MPI_Comm half, between;
  MPI_Comm_split(MPI_COMM_WORLD, odd, world_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, odd ? 0 : 1, 99, &between);
  MPI_Comm_rank(half, &rank);
  if (rank == 0) MPI_Send(data, 100, MPI_BYTE, 1, 1, half);
  if (rank == 1) MPI_Recv(data, 100, MPI_BYTE, 0, 1, half, MPI_STATUS_IGNORE);
  if (odd && rank == 0) MPI_Send(data, 1000, MPI_BYTE, 1, 2, between);
  if (!odd && rank == 1) MPI_Recv(data, 1000, MPI_BYTE, 0, 2, between, MPI_STATUS_IGNORE);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
}

static void* elsewhere(void* unused) {
  reprise_event("in another thread");
  return unused;
}

static void poll_once(void) {
  int value = 0, done = 0;
  MPI_Request request;
  if (world_rank == 1) {
    MPI_Irecv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  } else if (world_rank == 0) {
    jitter(2000);
    MPI_Isend(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
    MPI_Waitany(1, &request, &done, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  reprise_event("before MPI_Init");
  start(&argc, &argv);
  const char* last = argc > 2 && world_rank == 1 ? argv[2] : "done";
  pthread_t thread;
  if (pthread_create(&thread, NULL, elsewhere, NULL) || pthread_join(thread, NULL)) die("pthread_create");
  reprise_event("begin");  // LINE begin
  for (int i = 0; i < world_rank; ++i) reprise_event("again");
  gather_any();
  halves();
  poll_once();
  const char* file = getenv("EVENT_FILE");  // what it holds may differ from run to run, unlike the arguments
  char name[64] = "";
  int fd = file ? open(file, O_RDONLY) : -1;
  if (fd >= 0 && read(fd, name, sizeof name - 1) < 0) die(file);
  reprise_event(fd >= 0 ? name : last);  // LINE last
  finish();
  reprise_event("after MPI_Finalize");
  return 0;
}
