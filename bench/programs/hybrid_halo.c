// Halo exchange by ranks with two threads each, which share the sweep and add up a residual: hybrid_halo DIR STEPS
#include <pthread.h>

#include "bench.h"

enum { kCells = 1 << 15, kHalo = 64, kThreads = 2 };

static double field[kCells + 2 * kHalo], next[kCells + 2 * kHalo], residual;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t meeting;
static long steps;

static void sweep(int part) {
  const int first = kHalo + part * (kCells / kThreads), last = first + kCells / kThreads;
  double own = 0;
  for (int i = first; i < last; ++i) {
    next[i] = field[i] + 0.25 * (field[i - 1] - 2 * field[i] + field[i + 1]);
    own += fabs(next[i] - field[i]);
  }
  pthread_mutex_lock(&lock);
  residual += own;
  pthread_mutex_unlock(&lock);
  pthread_barrier_wait(&meeting);
  memcpy(field + first, next + first, sizeof(double) * (size_t)(last - first));
  pthread_barrier_wait(&meeting);
}

static void* help(void* part) {
  for (long step = 0; step < steps; ++step) {
    pthread_barrier_wait(&meeting);
    sweep((int)(intptr_t)part);
  }
  return NULL;
}

static void exchange(void) {
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  MPI_Request requests[4];
  MPI_Irecv(field, kHalo, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(field + kCells + kHalo, kHalo, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[1]);
  MPI_Isend(field + kHalo, kHalo, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[2]);
  MPI_Isend(field + kCells, kHalo, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[3]);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
  calls += 5;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads - 1];
  begin(&argc, &argv);
  steps = atol(argv[2]);
  for (int i = 0; i < kCells + 2 * kHalo; ++i) field[i] = rank + (i * 37 % 101) * 1e-3;
  pthread_barrier_init(&meeting, NULL, kThreads);
  for (int i = 1; i < kThreads; ++i) pthread_create(&threads[i - 1], NULL, help, (void*)(intptr_t)i);
  began = now();
  for (long step = 0; step < steps; ++step) {
    exchange();
    pthread_barrier_wait(&meeting);
    sweep(0);
  }
  for (int i = 1; i < kThreads; ++i) pthread_join(threads[i - 1], NULL);
  fclose(end(argv[1]));
  MPI_Finalize();
  return residual != residual;
}
