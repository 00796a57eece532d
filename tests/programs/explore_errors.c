// One kind of mistake each, which some message orders show and others do not. The first argument says which.
#include <assert.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks, first;

// Rank 0 hears everybody; whether rank 2 came first decides what happens.
static void hear_everybody(void) {
  int value = rank;
  if (rank != 0) {
    MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    return;
  }
  for (int i = 1; i < ranks; ++i) {
    MPI_Status status;
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    if (i == 1) first = status.MPI_SOURCE;
  }
}

static void deadlock(void) {
  int value = 0;
  if (rank == 0 && first == 2) MPI_Recv(&value, 1, MPI_INT, 2, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // deadlock
}

static void head_to_head(void) {
  int value = 0;
  const int peer = rank ^ 1;
  if (peer >= ranks) return;
  MPI_Send(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD);  // head to head
  MPI_Recv(&value, 1, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void livelock(void) {
  int value = 0, flag = 0;
  MPI_Request request;
  if (rank != 0 || first != 2) return;
  MPI_Irecv(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
  while (!flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);  // livelock
}

static void failed_assertion(void) {
  assert(rank != 0 || first != 2);  // assertion
}

static void crash(void) {
  if (rank == 0 && first == 2) raise(SIGSEGV);  // crash
}

static void ends(void) {
  if (rank == 0 && first == 2) exit(3);  // exit
}

// What it writes, and what it reads.
static void writes(void) {
  char text[16] = "";
  if (rank != 0) return;
  FILE* const file = fopen("heard.txt", "a");
  fprintf(file, "%d\n", first);
  fclose(file);
  FILE* const given = fopen("given.txt", "r");
  if (!given || !fgets(text, sizeof text, given) || strcmp(text, "given\n") != 0) exit(4);
  fclose(given);
  if (first == 2) exit(3);
}

static void aborts(void) {
  if (rank == 0 && first == 2) MPI_Abort(MPI_COMM_WORLD, 5);  // abort
}

static void truncates(void) {
  int values[2] = {0, 0};
  if (rank == 1) MPI_Send(values, 2, MPI_INT, 0, 4, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(values, first == 2 ? 1 : 2, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // truncates
}

static void lost_send(void) {
  int value = 0;
  MPI_Request request;
  if (rank == 0 && first == 2) MPI_Isend(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);  // lost send
}

static void lost_receive(void) {
  static int value;
  MPI_Request request;
  if (rank == 0 && first == 2) MPI_Irecv(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, &request);  // lost receive
}

static void other_collective(void) {
  int value = rank, sum = 0;
  if (rank == 0 && first == 2) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);  // other collective
  else MPI_Barrier(MPI_COMM_WORLD);
}

static void other_root(void) {
  int value = rank;
  MPI_Bcast(&value, 1, MPI_INT, rank == 0 && first == 2 ? 1 : 0, MPI_COMM_WORLD);  // other root
}

static void other_operation(void) {
  int value = rank, sum = 0;
  MPI_Allreduce(&value, &sum, 1, MPI_INT, rank == 0 && first == 2 ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD);  // other operation
}

static void for_ever(void) {
  volatile int goes_on = 1;
  if (rank == 0)
    while (goes_on) continue;  // for ever
}

static void forks(void) {
  if (rank != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    sleep(1000);  // would be left behind
    _exit(0);
  }
}

static void nothing(void) {}

static const struct {
  const char* name;
  void (*function)(void);
} kMistakes[] = {
    {"deadlock", deadlock},         {"head-to-head", head_to_head},         {"livelock", livelock},
    {"assertion", failed_assertion}, {"crash", crash},                      {"exit", ends},
    {"writes", writes},
    {"abort", aborts},              {"truncates", truncates},               {"lost-send", lost_send},
    {"lost-receive", lost_receive}, {"other-collective", other_collective}, {"other-root", other_root},
    {"other-operation", other_operation}, {"for-ever", for_ever},           {"forks", forks},
    {"nothing", nothing},
};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  hear_everybody();
  printf("rank %d: first %d\n", rank, first);
  fflush(stdout);
  for (size_t i = 0; i < sizeof kMistakes / sizeof kMistakes[0]; ++i)
    if (argc > 1 && strcmp(argv[1], kMistakes[i].name) == 0) kMistakes[i].function();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
