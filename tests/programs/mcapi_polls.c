/* Node 1 polls, with locks between the polls: what a poll finds does not belong to the call before it. It counts what comes from whom while
 * others send; and it is killed when it has got so many, if it is told so: mcapi_polls [MESSAGES [KILLED_AFTER]]. */
#include "nodes.h"

#include <signal.h>

#include <sched.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int polls = 0, messages = 30, killed_after = 0;

static void receives(node_t* node) {
  for (int got = 0; got < messages * (node->nodes - 1);) {
    mcapi_status_t status;
    const mcapi_uint_t there = mcapi_msg_available(node->own, &status);
    must(status, "mcapi_msg_available");
    pthread_mutex_lock(&lock);
    ++polls;
    pthread_mutex_unlock(&lock);
    if (there == 0) {
      const struct timespec pause = {0, 100000};
      nanosleep(&pause, NULL);
      continue;
    }
    if (killed_after > 0 && got >= killed_after) kill(getpid(), SIGKILL);
    say(node, "%u there after %d polls:", there, polls);
    for (mcapi_uint_t i = 0; i < there; ++i, ++got) say(node, " %d", receive_number(node));
    mcapi_request_t request;
    int number = 0, tests = 0;
    size_t size;
    if (got == messages * (node->nodes - 1)) break;
    mcapi_msg_recv_i(node->own, &number, sizeof number, &request, &status);
    must(status, "mcapi_msg_recv_i");
    while (!mcapi_test(&request, &size, &status)) {
      must(status, "mcapi_test");
      pthread_mutex_lock(&lock);
      ++tests;
      pthread_mutex_unlock(&lock);
      sched_yield();
    }
    ++got;
    say(node, ", then %d after %d tests\n", number, tests);
  }
}

static void sends(node_t* node) {
  for (int i = 0; i < messages; ++i) {
    send_number(node, 1, 1000000 * node->number + i);
    const struct timespec pause = {0, 50000 * node->number};
    nanosleep(&pause, NULL);
  }
}

static void work(node_t* node) { node->number == 1 ? receives(node) : sends(node); }

int main(int argc, char** argv) {
  argc = own_words(argc, &argv);
  if (argc > 1) messages = atoi(argv[1]);
  if (argc > 2) killed_after = atoi(argv[2]);
  return run_nodes(3, work);
}
