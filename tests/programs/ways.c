// Three ranks do a little of everything. A word in a file changes one thing, and a replay with another word than the
// recorded one must be found out at just that place:
//
//   ways DIR FILE
//
// The words and what they must lead to are listed in tests/run/divergence.py. A comment //@name marks a line that is
// looked for in what the replay says.
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "common.h"

enum { kEach = 6, kOdd = 3 };

static char word[32] = "normal";
static char file[4096];
static MPI_Comm comm, extra;

static int way(const char* what) { return strcmp(word, what) == 0; }
static int odd(int rank, const char* what) { return world_rank == rank && way(what); }

static void spin(void) {
  for (volatile unsigned i = 0;; ++i) {
  }
}

// --- sources of chance that nobody records --------------------------------------------------------------------------

static volatile uint64_t racing;

static void* race(void* nothing) {
  for (int i = 0; i < 300000000; ++i) ++racing;
  return nothing;
}

static uint64_t racing_count(void) {
  pthread_t thread;
  struct timespec pause = {0, 2000000};
  if (pthread_create(&thread, NULL, race, NULL)) die("pthread_create");
  pthread_detach(thread);
  while (racing == 0) sched_yield();  // on a busy machine it takes its time
  nanosleep(&pause, NULL);
  return racing;
}

static uint64_t cycles(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc() >> 4;
#elif defined(__aarch64__)
  uint64_t count;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
  return count;
#else
  return (uintptr_t)&racing >> 12;
#endif
}

// What the allocator has left in a block that was used before: an address, disguised.
static uint64_t uninitialised(void) {
  void* volatile blocks[2] = {malloc(40), malloc(40)};
  free(blocks[0]);
  free(blocks[1]);
  uint64_t* volatile again = malloc(40);
  uint64_t found = 0;
  for (int i = 0; i < 2; ++i) found ^= *(volatile uint64_t*)&again[i] >> 12;
  free(again);
  return found;
}

static uint64_t from_child(void) {
  unsigned long long number = 0;
  FILE* child = popen("date +%N", "r");
  if (!child || fscanf(child, "%llu", &number) != 1) die("date");
  pclose(child);
  return number >> 3;
}

static uint64_t counter_file(void) {
  struct stat info;
  char path[4200];
  snprintf(path, sizeof path, "%s.count", file);
  int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0 || write(fd, "x", 1) != 1 || fstat(fd, &info)) die(path);
  close(fd);
  return (uint64_t)info.st_size;
}

static uint64_t chance(void) {
  if (way("layout")) return (uintptr_t)&racing >> 12;
  if (way("cycles")) return cycles();
  if (way("auxiliary")) return *(const uint32_t*)getauxval(AT_RANDOM);
  if (way("uninitialised")) return uninitialised();
  if (way("race")) return racing_count();
  if (way("child")) return from_child();
  if (way("counter")) return counter_file();
  return 0;
}

static void take_chance(void) {
  int value = 0;
  int tag = 0;
  if (world_rank == 1) tag = (int)(chance() & 0x3fff);
  MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, tag, comm);  //@chance
}

// --- wildcard receives, and how a rank may leave them ---------------------------------------------------------------

static void leave(void) {
  if (way("exit")) exit(0);
  if (way("vanish")) _exit(0);
  if (way("suicide")) kill((pid_t)syscall(SYS_getpid), SIGKILL);
  if (way("segv")) *(volatile int* volatile)0 = 1;  //@segv
  if (way("sigabrt")) abort();
  if (way("mpi-abort")) MPI_Abort(MPI_COMM_WORLD, 5);  //@mpi-abort
  if (way("spin")) spin();
  if (way("sleep")) sleep(1000);
  if (way("slow")) {
    int fd = out_file("pid", ".txt", O_WRONLY);
    dprintf(fd, "%d\n", (int)(pid_t)syscall(SYS_getpid));
    close(fd);
    sleep(1);
  }
  if (way("finalize")) {
    MPI_Finalize();  //@early-finalize
    exit(0);
  }
}

// One place, however the compiler treats the loop.
__attribute__((noinline)) static void send_one(int* values, int count, MPI_Datatype type, int to, int tag,
                                               MPI_Comm on) {
  MPI_Send(values, count, type, to, tag, on);  //@send
}

static void stream_to_master(void) {
  for (int i = 0; i < kEach; ++i) {
    int values[2] = {world_rank * 1000 + i, 0};
    const int mine = world_rank == 1 && i == kOdd;
    const MPI_Datatype type = mine && way("type") ? MPI_DOUBLE : MPI_INT;
    jitter(200);
    if (mine) leave();
    if (mine && (way("fewer") || way("swapped"))) continue;
    if (mine && way("function")) {
      MPI_Ssend(values, 1, MPI_INT, 0, 1, comm);  //@ssend
      continue;
    }
    const int to = mine && way("peer") ? 2 : 0;
    const int tag = mine && way("tag") ? 9 : 1;
    send_one(values, mine && way("size") ? 2 : 1, type, to, tag, mine && way("comm") ? extra : comm);
    if ((mine && way("unheard")) || (world_rank == 2 && i == kOdd && way("swapped")))
      MPI_Send(values, 1, MPI_INT, 0, 1, comm);  //@send-more
  }
}

static void take_all(void) {
  int values[2];
  MPI_Status status;
  for (int i = 0; i < kEach * (world_size - 1); ++i) {
    if (i == 5 && way("more")) MPI_Send(values, 0, MPI_INT, MPI_PROC_NULL, 1, comm);  //@more
    if (i == 5 && way("probe")) MPI_Probe(MPI_ANY_SOURCE, 1, comm, &status);          //@probe
    if (i == 5 && way("specific"))
      MPI_Recv(values, 2, MPI_INT, 2, 1, comm, &status);  //@recv-specific
    else
      MPI_Recv(values, 2, MPI_INT, MPI_ANY_SOURCE, 1, comm, &status);  //@recv-any
    took("any", status.MPI_SOURCE, status.MPI_TAG, values[0]);
  }
}

// --- probes and tests -----------------------------------------------------------------------------------------------

static void poll_first(void) {
  int flag = 0;
  int value;
  while (!flag && !way("poll-never"))
    MPI_Iprobe(1, way("poll-tag") ? 21 : 20, comm, &flag, MPI_STATUS_IGNORE);  //@iprobe
  MPI_Recv(&value, 1, MPI_INT, 1, 20, comm, MPI_STATUS_IGNORE);  //@recv-probed
}

static void poll_second(void) {
  int value;
  MPI_Request request;
  MPI_Irecv(&value, 1, MPI_INT, 2, 22, comm, &request);  //@irecv-tested
  int flag = 0;
  for (int n = 0; !flag; ++n) {
    if (n == 1 && way("test-less")) {
      MPI_Wait(&request, MPI_STATUS_IGNORE);  //@wait-tested
      break;
    }
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);             //@test
    if (n == 0) MPI_Send(&value, 1, MPI_INT, 2, 23, comm);  //@go: the first test has failed for certain
  }
}

static void polls(void) {
  int value = 0;
  if (world_rank == 0) {
    int flag;
    if (way("poll-elsewhere")) MPI_Iprobe(1, 20, comm, &flag, MPI_STATUS_IGNORE);  //@iprobe-early
    if (way("poll-order")) poll_second();
    poll_first();
    if (!way("poll-order")) poll_second();
  } else if (world_rank == 1) {
    jitter(500);
    MPI_Send(&value, 1, MPI_INT, 0, 20, comm);  //@after-stream-1
  } else {
    MPI_Recv(&value, 1, MPI_INT, 0, 23, comm, MPI_STATUS_IGNORE);  //@after-stream-2
    jitter(500);
    MPI_Send(&value, 1, MPI_INT, 0, 22, comm);
  }
}

// --- completions ----------------------------------------------------------------------------------------------------

static void completions(void) {
  int values[4] = {0};
  if (world_rank == 0) {
    MPI_Request requests[4];
    int index;
    for (int i = 0; i < 4; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, 1 + i % 2, 30 + i / 2, comm, &requests[i]);  //@irecv-many
    MPI_Waitany(way("waitany") ? 3 : 4, requests, &index, MPI_STATUS_IGNORE);   //@waitany
    MPI_Waitall(way("waitall") ? 3 : 4, requests, MPI_STATUSES_IGNORE);         //@waitall
    took("waitany", index, 30, values[index]);
    MPI_Irecv(&values[0], 1, MPI_INT, 1, 40, comm, &requests[0]);
    MPI_Irecv(&values[1], 1, MPI_INT, 2, 41, comm, &requests[1]);
    // Which request is waited for is not logged. In the wrong order nobody can go on.
    MPI_Wait(&requests[way("deadlock")], MPI_STATUS_IGNORE);  //@wait-1
    MPI_Send(&values[0], 1, MPI_INT, 2, 42, comm);
    MPI_Wait(&requests[!way("deadlock")], MPI_STATUS_IGNORE);
    MPI_Irecv(&values[2], 1, MPI_INT, 1, 99, comm, &requests[2]);  // nobody sends that
    if (!way("no-cancel")) MPI_Cancel(&requests[2]);               //@cancel
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);                     //@wait-cancelled
  } else {
    for (int i = 0; i < 2; ++i) MPI_Send(values, 1, MPI_INT, 0, 30 + i, comm);
    if (world_rank == 1) MPI_Send(values, 1, MPI_INT, 0, 40, comm);
    if (world_rank == 2) MPI_Recv(values, 1, MPI_INT, 0, 42, comm, MPI_STATUS_IGNORE);  //@recv-42
    if (world_rank == 2) MPI_Send(values, 1, MPI_INT, 0, 41, comm);
  }
}

static void persistent(void) {
  int values[2] = {0};
  if (world_rank == 0) {
    MPI_Request requests[2];
    MPI_Recv_init(&values[0], 1, MPI_INT, 1, 50, comm, &requests[0]);
    MPI_Recv_init(&values[1], 1, MPI_INT, MPI_ANY_SOURCE, 51, comm, &requests[1]);
    if (way("start-order")) MPI_Start(&requests[1]);  //@start-first
    MPI_Start(&requests[0]);                          //@start-1
    if (!way("start-order")) MPI_Start(&requests[1]);  //@start-2
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  } else {
    MPI_Send(values, 1, MPI_INT, 0, 49 + world_rank, comm);
  }
}

// --- collectives and communicators ----------------------------------------------------------------------------------

static void collectives(void) {
  int value = world_rank;
  int sum = 0;
  int all[16] = {0};
  MPI_Bcast(&value, 1, MPI_INT, odd(1, "root"), comm);  //@bcast
  if (odd(1, "collective"))
    MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, comm);  //@reduce
  else
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);  //@allreduce
  if (!odd(2, "skip")) MPI_Barrier(comm);                    //@barrier
  MPI_Allgather(&value, 1, MPI_INT, all, 1, MPI_INT, comm);  //@allgather
}

static void communicators(void) {
  MPI_Comm made;
  MPI_Group everybody, group;
  const int ranks[3] = {0, 1, 2};
  MPI_Comm_split(comm, odd(2, "colour"), odd(2, "key") ? -7 : world_rank, &made);  //@split
  MPI_Comm_free(&made);
  MPI_Comm_group(comm, &everybody);
  MPI_Group_incl(everybody, way("group") ? 2 : 3, ranks, &group);
  MPI_Comm_create(comm, group, &made);  //@create
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
  MPI_Group_free(&group);
  MPI_Group_free(&everybody);
  MPI_Comm half, between, merged;
  MPI_Comm_split(comm, world_rank > 0, 0, &half);
  MPI_Intercomm_create(half, 0, comm, world_rank > 0 ? 0 : 1, odd(0, "intercomm") ? 61 : 60, &between);  //@intercomm
  MPI_Intercomm_merge(between, (world_rank > 0) != way("merge"), &merged);                            //@merge
  MPI_Comm_free(&merged);
  MPI_Comm_free(&between);
  MPI_Comm_free(&half);
  if (odd(1, "freed")) MPI_Comm_free(&extra);  //@free-early
  MPI_Barrier(extra);                          //@barrier-extra
  MPI_Comm_free(&extra);                       //@free-extra
}

static void read_word(int argc, char** argv) {
  const char* from_environment = getenv("WAY_TO_GO");
  FILE* input = argc > 2 ? fopen(argv[2], "r") : NULL;
  if (input) {
    snprintf(file, sizeof file, "%s", argv[2]);
    if (fscanf(input, "%31s", word) != 1) die("input");
    fclose(input);
  }
  if (from_environment) snprintf(word, sizeof word, "%s", from_environment);
}

static int launched_as(const char* rank) {
  const char* names[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK"};
  for (int i = 0; i < 2; ++i) {
    const char* value = getenv(names[i]);
    if (value) return strcmp(value, rank) == 0;
  }
  return 0;
}

int main(int argc, char** argv) {
  read_word(argc, argv);
  if (way("before-init") && launched_as("1")) spin();
  start(&argc, &argv);
#ifdef VARIANT
  say("variant %d", VARIANT);
#endif
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &extra);
  take_chance();
  if (world_rank == 0)
    take_all();
  else
    stream_to_master();
  polls();
  completions();
  persistent();
  collectives();
  communicators();
  MPI_Comm_free(&comm);
  finish();
  if (odd(1, "after-finalize")) spin();
  return odd(1, "status") ? 3 : 0;
}
