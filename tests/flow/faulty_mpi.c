// What to break, what was broken, and who may break it.
#include "faulty.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#define FAULT_NAME(CONSTANT, NAME) NAME,
static const char* const names[] = {FAULTS(FAULT_NAME)};

struct real real;
int world_rank = -1;
unsigned watch;

static int selected = -1;  // the fault to do
static bool counting;
static int at_rank;
static long at_index;
static atomic_long eligible_calls[kFaults];
static _Thread_local int depth;

static long number(const char* variable) {
  const char* value = getenv(variable);
  return value ? atol(value) : 0;
}

__attribute__((constructor)) static void load(void) {
#define LOAD(NAME) *(void**)&real.NAME = dlsym(RTLD_NEXT, "PMPI_" #NAME);
  REAL_FUNCTIONS(LOAD)
  REAL_FUNCTIONS_4(LOAD)
  const char* fault = getenv("REPRISE_FAULT");
  if (fault && !*fault) fault = NULL;
  for (int i = 0; fault && i < kFaults; ++i)
    if (strcmp(fault, names[i]) == 0) selected = i;
  if (fault && selected < 0) selected = kFaults;  // said when MPI is used: this is loaded by mpirun and its shells, too
  counting = !fault && getenv("REPRISE_FAULT_COUNT");
  at_rank = (int)number("REPRISE_FAULT_RANK");
  at_index = number("REPRISE_FAULT_AT");
}

static bool know_rank(void) {
  int ready = 0;
  real.Initialized(&ready);
  if (!ready) return false;
  if (selected == kFaults) {
    fprintf(stderr, "faulty MPI: there is no fault \"%s\"\n", getenv("REPRISE_FAULT"));
    _exit(64);
  }
  real.Comm_rank(MPI_COMM_WORLD, &world_rank);
  watch = counting ? BIT(kFaults) - 1 : world_rank == at_rank ? BIT(selected) : 0;
  return true;
}

bool is_private(MPI_Comm comm) {
  char name[MPI_MAX_OBJECT_NAME] = "";
  int length = 0;
  if (selected < 0 && !counting) return false;
  real.Comm_get_name(comm, name, &length);
  return strcmp(name, "Reprise") == 0;
}

bool enter(void) {
  if (depth > 0 || (selected < 0 && !counting)) return false;
  ++depth;
  if (world_rank < 0 && !know_rank()) {
    --depth;
    return false;
  }
  deliver_late();
  return true;
}

int leave(int code) {
  --depth;
  return code;
}

bool wanted_together(enum fault fault) { return counting || selected == (int)fault; }
int breaking_rank(void) { return counting ? -1 : at_rank; }
long breaking_index(void) { return at_index; }
long eligible(enum fault fault) { return eligible_calls[fault]; }

bool due(enum fault fault) {
  const long index = atomic_fetch_add(&eligible_calls[fault], 1);
  return selected == (int)fault && world_rank == at_rank && index == at_index;
}

static void append(const char* variable, const char* text) {
  const char* path = getenv(variable);
  if (!path) return;
  const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0 || write(fd, text, strlen(text)) < 0) perror(path);
  if (fd >= 0) close(fd);
}

void applied(enum fault fault, struct call call, const char* format, ...) {
  char line[512];
  const int start = snprintf(line, sizeof line, "FAULT %d %s %ld %ld %s: ", world_rank, call.function, at_index,
                             call.index, names[fault]);
  va_list args;
  va_start(args, format);
  vsnprintf(line + start, sizeof line - (size_t)start - 1, format, args);
  va_end(args);
  append("REPRISE_FAULT_LOG", strcat(line, "\n"));
}

int MPI_Finalize(void) {
  PASS(Finalize);
  (void)call;
  char text[kFaults * 64] = "";
  for (int i = 0; counting && i < kFaults; ++i)
    sprintf(text + strlen(text), "%s %d %ld\n", names[i], world_rank, eligible(i));
  if (counting) append("REPRISE_FAULT_COUNT", text);
  return leave(real.Finalize());
}
BOTH_NAMES(Finalize);
