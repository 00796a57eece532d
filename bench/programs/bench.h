// Timing and statistics for the benchmark programs.
//
// The clock is read by a raw system call: MPI_Wtime and the C library's clocks are part of what a replay repeats, so a
// replayed run would report the recorded run's time.
#ifndef BENCH_PROGRAMS_BENCH_H
#define BENCH_PROGRAMS_BENCH_H

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static int rank, size;
static uint64_t calls;      // MPI calls between begin() and end()
static uint64_t wildcards;  // of them, wildcard receives
static double began;

static UNUSED double now(void) {
  struct timespec time;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static UNUSED void begin(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  began = now();
}

static UNUSED long peak_kb(void) {
  char line[256];
  long kb = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status && fgets(line, sizeof line, status))
    if (sscanf(line, "VmHWM: %ld", &kb) == 1) break;
  if (status) fclose(status);
  return kb;
}

// One "name value" per line; further lines may follow before the file is closed.
static UNUSED FILE* end(const char* directory) {
  const double seconds = now() - began;
  char path[4096];
  snprintf(path, sizeof path, "%s/stats-%d.txt", directory, rank);
  FILE* stats = fopen(path, "w");
  if (!stats) {
    perror(path);
    exit(99);
  }
  fprintf(stats, "seconds %.9f\ncalls %llu\nwildcards %llu\npeak_kb %ld\n", seconds, (unsigned long long)calls,
          (unsigned long long)wildcards, peak_kb());
  return stats;
}

static UNUSED uint32_t next_random(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static UNUSED void busy(uint32_t turns) {
  for (uint32_t i = 0; i < turns; ++i) __asm__ volatile("");
}

#endif
