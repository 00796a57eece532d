// Several threads of a rank use MPI at once (MPI_THREAD_MULTIPLE), or one after the other ("serialized"): on the same
// communicator with the same tags, so that which thread gets which message is decided anew in every run.
#include <pthread.h>
#include <sched.h>

#include "common.h"

enum { kThreads = 3, kMessages = 40 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int serialized;
static uint64_t got[kThreads];
static MPI_Comm own[kThreads];

static void enter(void) {
  if (serialized) pthread_mutex_lock(&mutex);
}
static void leave(void) {
  if (serialized) pthread_mutex_unlock(&mutex);
}

static void note(int me, int source, int tag, int value) {
  got[me] = (got[me] ^ (uint64_t)(source * 10007 + tag * 101 + value)) * 1099511628211u;
}

// From a certain rank, but to whichever thread asks first.
static void take_from_neighbour(int me, int i) {
  const int next = (world_rank + 1) % world_size, previous = (world_rank + world_size - 1) % world_size;
  int out = me * 1000 + i, value;
  MPI_Request sending;
  MPI_Message message;
  MPI_Status status;
  MPI_Isend(&out, 1, MPI_INT, next, 2, MPI_COMM_WORLD, &sending);
  MPI_Mprobe(previous, 2, MPI_COMM_WORLD, &message, &status);
  MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
  MPI_Wait(&sending, MPI_STATUS_IGNORE);
  note(me, status.MPI_SOURCE, status.MPI_TAG, value);
}

// Threads make communicators at once, each from its own.
static void make_communicator(int me) {
  MPI_Comm made;
  int value = me, sum;
  MPI_Comm_dup(own[me], &made);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, made);
  note(me, sum, 0, value);
  MPI_Comm_free(&made);
}

// Everybody sends to everybody; whoever looks first takes what is there.
static void* work(void* number) {
  const int me = (int)(intptr_t)number;
  const int others = world_size - 1;
  MPI_Status status;
  int value, flag;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Request sends[16] = {0};
    jitter(60);
    for (int to = 0, k = 0; to < world_size; ++to) {
      if (to == world_rank) continue;
      int* const out = malloc(sizeof *out);
      *out = me * 1000 + i;
      enter();
      if (!serialized && i % 4 == 0) MPI_Send(out, 1, MPI_INT, to, 1, MPI_COMM_WORLD), sends[k] = MPI_REQUEST_NULL;
      else MPI_Isend(out, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &sends[k]);
      leave();
      ++k;
    }
    for (int k = 0; k < others; ++k) {
      MPI_Request request;
      MPI_Message message;
      switch (serialized ? 3 : (i + k) % 4) {
        case 0:
          MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
          break;
        case 1:
          MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
          MPI_Wait(&request, &status);
          break;
        case 2:
          MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, &status);
          MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
          break;
        default:
          do {
            enter();
            MPI_Improbe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, &message, &status);
            if (flag) MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            leave();
            if (!flag) sched_yield();
          } while (!flag);
      }
      note(me, status.MPI_SOURCE, status.MPI_TAG, value);
    }
    do {
      enter();
      MPI_Testall(others, sends, &flag, MPI_STATUSES_IGNORE);
      leave();
      if (!flag) sched_yield();
    } while (!flag);
  }
  // Afterwards: nobody who is still above waits for anything from here.
  for (int i = 0; i < kMessages && !serialized; ++i) take_from_neighbour(me, i);
  if (!serialized) make_communicator(me);
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  serialized = strcmp(argv[argc - 1], "serialized") == 0;
  MPI_Init_thread(&argc, &argv, serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE, &provided);
  open_output(argc, argv);
  say("provided enough: %d", provided >= (serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_MULTIPLE));
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &own[i]);
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, (void*)(intptr_t)i);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; ++i) {
    say("thread %d got %016llx", i, (unsigned long long)got[i]);
    fold(got[i]);
  }
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&own[i]);
  finish();
}
