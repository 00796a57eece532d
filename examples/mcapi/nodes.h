/* What the examples share: nodes as threads of one process or, with --processes, as processes; and what a node says. */
#ifndef EXAMPLES_MCAPI_NODES_H
#define EXAMPLES_MCAPI_NODES_H

#include <malloc.h>
#include <mcapi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_NODES 32

typedef struct {
  int number; /* from 1 */
  int nodes;
  mcapi_endpoint_t own;
  mcapi_endpoint_t others[MAX_NODES + 1]; /* by number, those that it has got */
  char has_got[MAX_NODES + 1];
  FILE* out;
} node_t;

/* What a call of MCAPI must end with. */
static inline void must(mcapi_status_t status, const char* what) {
  char text[MCAPI_MAX_STATUS_SIZE];
  if (status == MCAPI_SUCCESS || status == MCAPI_PENDING) return;
  fprintf(stderr, "%s: %s\n", what, mcapi_display_status(status, text, sizeof text));
  exit(1);
}

/* Into a file of the node's own where OUT_DIR is set, otherwise to the terminal when the node is over. */
static inline void say(node_t* node, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vfprintf(node->out, format, arguments);
  va_end(arguments);
  fflush(node->out);
}

/* Whom it sends to is there until that has come. */
static inline void send_bytes(node_t* node, int to, const void* bytes, size_t size) {
  mcapi_status_t status;
  if (!node->has_got[to]) {
    node->has_got[to] = 1;
    node->others[to] = mcapi_endpoint_get(0, (mcapi_node_t)to, 1, MCAPI_TIMEOUT_INFINITE, &status);
    must(status, "mcapi_endpoint_get");
  }
  mcapi_msg_send(node->own, node->others[to], bytes, size, 0, &status);
  must(status, "mcapi_msg_send");
}

static inline size_t receive_bytes(node_t* node, void* bytes, size_t room) {
  mcapi_status_t status;
  size_t size = 0;
  mcapi_msg_recv(node->own, bytes, room, &size, &status);
  must(status, "mcapi_msg_recv");
  return size;
}

static inline void send_number(node_t* node, int to, int number) { send_bytes(node, to, &number, sizeof number); }

static inline int receive_number(node_t* node) {
  int number = 0;
  receive_bytes(node, &number, sizeof number);
  return number;
}

static inline void begin_node(node_t* node) {
  const char* const directory = getenv("OUT_DIR");
  mcapi_status_t status;
  if (directory) {
    char path[4096];
    snprintf(path, sizeof path, "%s/out-%d.txt", directory, node->number);
    node->out = fopen(path, "w");
  }
  if (!node->out) node->out = stdout;
  mcapi_initialize(0, (mcapi_node_t)node->number, NULL, NULL, NULL, &status);
  must(status, "mcapi_initialize");
  node->own = mcapi_endpoint_create(1, &status);
  must(status, "mcapi_endpoint_create");
}

static inline void end_node(node_t* node) {
  mcapi_status_t status;
  mcapi_endpoint_delete(node->own, &status);
  must(status, "mcapi_endpoint_delete");
  mcapi_finalize(&status);
  must(status, "mcapi_finalize");
  if (node->out != stdout) fclose(node->out);
}

typedef void (*work_t)(node_t*);

typedef struct {
  node_t node;
  work_t work;
} job_t;

static inline void* run_node(void* argument) {
  job_t* const job = argument;
  begin_node(&job->node);
  job->work(&job->node);
  end_node(&job->node);
  return NULL;
}

/* The words of the command line are [--processes] and then the program's own, of which it returns how many there are. */
static int as_processes = 0;
static inline int own_words(int argc, char*** argv) {
  if (argc > 1 && strcmp((*argv)[1], "--processes") == 0) {
    as_processes = 1;
    ++*argv;
    --argc;
  }
  return argc;
}

/* For measurements: how long the nodes took, and how much memory this process has, in the file that EXAMPLE_FIGURES names. By system
 * calls, because a recorded program gets recorded times again. */
static inline double seconds_now(void) {
  struct timespec time;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static inline void write_figures(double seconds) {
  const char* const path = getenv("EXAMPLE_FIGURES");
  FILE* const out = path ? fopen(path, "a") : NULL;
  FILE* const in = fopen("/proc/self/status", "r");
  char line[256];
  long kilobytes = 0;
  while (in && fgets(line, sizeof line, in))
    if (strncmp(line, "RssAnon:", 8) == 0) kilobytes = atol(line + 8);
  if (in) fclose(in);
  if (!out) return;
  const struct mallinfo2 heap = mallinfo2();
  fprintf(out, "%.9f %zu %ld\n", seconds, heap.uordblks + heap.hblkhd, kilobytes);
  fclose(out);
}

static inline int run_nodes(int nodes, work_t work) {
  const double begin = seconds_now();
  static job_t jobs[MAX_NODES + 1];
  pthread_t threads[MAX_NODES + 1];
  pid_t children[MAX_NODES + 1];
  int failed = 0;
  char universe[64];
  snprintf(universe, sizeof universe, "example-%d", (int)getpid());
  setenv("MCAPI_UNIVERSE", universe, 0);
  for (int i = 1; i <= nodes; ++i) {
    jobs[i].node.number = i;
    jobs[i].node.nodes = nodes;
    jobs[i].work = work;
    if (!as_processes) {
      if (pthread_create(&threads[i], NULL, run_node, &jobs[i]) != 0) exit(1);
    } else if ((children[i] = fork()) == 0) {
      run_node(&jobs[i]);
      exit(0);
    }
  }
  for (int i = 1; i <= nodes; ++i) {
    int status = 0;
    if (!as_processes) pthread_join(threads[i], NULL);
    else if (waitpid(children[i], &status, 0) < 0 || status != 0) failed = 1;
  }
  write_figures(seconds_now() - begin);
  return failed;
}

#endif
