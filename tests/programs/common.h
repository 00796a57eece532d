// What every test program shares: one output file per rank, delays, a digest.
//
// The programs print what their nondeterminism decided, so two plain runs differ and a replay can be compared byte for
// byte. Delays are random, by a raw system call, so that a replay delays differently, but they only ever delay: they
// reach the output in no other way than by the order of messages. Lines are written with one write(2) each, so a rank
// that is killed leaves whole lines.
#ifndef TESTS_PROGRAMS_COMMON_H
#define TESTS_PROGRAMS_COMMON_H

// The C++ bindings that mpi.h may pull in do not compile without warnings.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1

#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define UNUSED __attribute__((unused))

static int world_rank = -1;
static int world_size = 0;
static int out_fd = -1;
static const char* out_dir = ".";
#define EMPTY_DIGEST 1469598103934665603u
static uint64_t digest = EMPTY_DIGEST;

static UNUSED void die(const char* what) {
  perror(what);
  _exit(99);
}

__attribute__((format(printf, 1, 2))) static UNUSED void say(const char* format, ...) {
  char line[1024];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line - 1, format, args);
  va_end(args);
  if (length > (int)sizeof line - 2) length = (int)sizeof line - 2;
  line[length++] = '\n';
  if (write(out_fd, line, (size_t)length) != length) die("write");
}

// Order-dependent: the same values in another order give another digest.
static UNUSED void fold(uint64_t value) { digest = (digest ^ value) * 1099511628211u; }

static UNUSED void took(const char* what, int source, int tag, int value) {
  fold((uint64_t)source * 1000003u + (uint64_t)tag * 10007u + (uint64_t)value);
  say("%s source %d tag %d value %d", what, source, tag, value);
}

// Delays for a random time up to max_us, half of the times asleep and half of the times busy.
static UNUSED void jitter(unsigned max_us) {
  uint16_t bits = 0;
  if (syscall(SYS_getrandom, &bits, sizeof bits, 0) != (long)sizeof bits) die("getrandom");
  unsigned us = (bits >> 1) % (max_us + 1);
  if (bits & 1) {
    struct timespec pause = {0, (long)us * 1000};
    nanosleep(&pause, NULL);
  } else {
    for (unsigned i = 0; i < us * 800; ++i) __asm__ volatile("");
  }
}

static UNUSED int out_file(const char* stem, const char* suffix, int flags) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s-%d%s", out_dir, stem, world_rank, suffix);
  int fd = open(path, flags | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) die(path);
  return fd;
}

static UNUSED void open_output(int argc, char** argv) {
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  const char* from_environment = getenv("OUT_DIR");
  if (argc > 1)
    out_dir = argv[1];
  else if (from_environment)
    out_dir = from_environment;
  out_fd = out_file("out", ".txt", O_WRONLY | O_APPEND);
}

static UNUSED void start(int* argc, char*** argv) {
  MPI_Init(argc, argv);
  open_output(*argc, *argv);
}

// Everybody learns what rank 0 saw, so every rank's output depends on the order of messages.
static UNUSED void tell_digests(void) {
  uint64_t root = digest;
  MPI_Bcast(&root, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  say("rank 0 saw %016llx, I saw %016llx", (unsigned long long)root, (unsigned long long)digest);
}

static UNUSED void finish(void) {
  tell_digests();
  MPI_Finalize();
  say("done");
}

// Everybody sends one message to rank 0, which takes them in any order.
static UNUSED void hear_everybody(unsigned max_us) {
  int value;
  MPI_Status status;
  if (world_rank != 0) {
    jitter(max_us);
    MPI_Send(&world_rank, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  }
  for (int i = 1; world_rank == 0 && i < world_size; ++i) {
    MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
    took("heard", status.MPI_SOURCE, 1, value);
  }
}

// `count` messages to rank 0 at uneven moments; the value names the sender and the position.
static UNUSED void send_stream(int count, int tag, unsigned max_us) {
  for (int i = 0; i < count; ++i) {
    jitter(max_us);
    int value = world_rank * 1000 + i;
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
  }
}

// How far a rank came, in a shared map that outlives SIGKILL: calls begun, calls ended, digest at the last end.
// A replay of a run that was cut off must come exactly this far (see faults.py).
struct progress {
  uint64_t begun;
  uint64_t ended;
  uint64_t digest;
};
static struct progress* progress = NULL;

static UNUSED void open_progress(void) {
  int fd = out_file("progress", ".bin", O_RDWR);
  if (ftruncate(fd, sizeof *progress)) die("ftruncate");
  void* map = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED) die("mmap");
  close(fd);
  progress = (struct progress*)map;
}

#define CALL(call)                                                        \
  do {                                                                    \
    __atomic_store_n(&progress->begun, progress->begun + 1, __ATOMIC_RELEASE); \
    call;                                                                 \
    progress->digest = digest;                                            \
    __atomic_store_n(&progress->ended, progress->ended + 1, __ATOMIC_RELEASE); \
  } while (0)

#endif
