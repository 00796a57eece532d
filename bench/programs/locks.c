// Threads that take locks: locks DIR OPERATIONS uncontended|contended
//
// uncontended: one thread takes a lock that nobody else wants, while another thread sleeps. contended: four threads take
// the same lock for a short critical section.
#include <pthread.h>

#include "bench.h"

enum { kThreads = 4 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t begun;
static long each;
static uint64_t shared;

static void* wait_at_gate(void* unused) {
  pthread_barrier_wait(&begun);
  pthread_mutex_lock(&gate);
  pthread_mutex_unlock(&gate);
  return unused;
}

static void* contend(void* unused) {
  pthread_barrier_wait(&begun);
  for (long i = 0; i < each; ++i) {
    pthread_mutex_lock(&lock);
    shared = shared * 6364136223846793005u + 1442695040888963407u;
    busy(20);
    pthread_mutex_unlock(&lock);
    busy(40);
  }
  return unused;
}

static void uncontended(long operations) {
  pthread_t sleeper;
  pthread_barrier_init(&begun, NULL, 2);
  pthread_mutex_lock(&gate);
  pthread_create(&sleeper, NULL, wait_at_gate, NULL);
  pthread_barrier_wait(&begun);
  began = now();
  for (long i = 0; i < operations; ++i) {
    pthread_mutex_lock(&lock);
    ++shared;
    pthread_mutex_unlock(&lock);
  }
  const double ended = now();
  pthread_mutex_unlock(&gate);
  pthread_join(sleeper, NULL);
  began += now() - ended;
}

static void contended(long operations) {
  pthread_t threads[kThreads];
  each = operations / kThreads;
  pthread_barrier_init(&begun, NULL, kThreads + 1);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, contend, NULL);
  pthread_barrier_wait(&begun);
  began = now();
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  const long operations = atol(argv[2]);
  if (argc > 3 && strcmp(argv[3], "contended") == 0) contended(operations);
  else uncontended(operations);
  calls = (uint64_t)operations;
  fclose(end(argv[1]));
  MPI_Finalize();
  return shared == 0;
}
