/* Five nodes (DR-MCAPI, Figure 8): 1 and 3 send to 2, 4 and 5; 2 sends what it makes of it to 4 and 5. The assertion holds only if
 * node 3's message comes first. */
#include "nodes.h"

#include <assert.h>

static void node_1_and_3(node_t* node) {
  const int number = node->number == 1 ? 1 : 10;
  send_number(node, 2, number);
  send_number(node, 4, number);
  send_number(node, 5, number);
}

static void node_2(node_t* node) {
  int a = 0, b = 0;
  mcapi_request_t requests[2];
  mcapi_request_t* both[2] = {&requests[0], &requests[1]};
  mcapi_status_t status;
  size_t size;
  mcapi_msg_recv_i(node->own, &a, sizeof a, &requests[0], &status);
  must(status, "mcapi_msg_recv_i");
  mcapi_msg_recv_i(node->own, &b, sizeof b, &requests[1], &status);
  must(status, "mcapi_msg_recv_i");
  const mcapi_uint_t first = mcapi_wait_any(2, both, &size, MCAPI_TIMEOUT_INFINITE, &status);
  must(status, "mcapi_wait_any");
  mcapi_wait(&requests[1 - first], &size, MCAPI_TIMEOUT_INFINITE, &status);
  must(status, "mcapi_wait");
  say(node, "node 2 got %d and %d, number %u first\n", a, b, first);
  if (getenv("FIGURE8_ASSERTS")) assert(a > b);
  send_number(node, 4, a - b);
  send_number(node, 5, a - b);
}

static void node_4(node_t* node) {
  int d = 0, e = 0, f = 0, failed = 0;
  mcapi_request_t first, second;
  mcapi_status_t status;
  size_t size;
  mcapi_msg_recv_i(node->own, &d, sizeof d, &first, &status);
  must(status, "mcapi_msg_recv_i");
  mcapi_msg_recv_i(node->own, &e, sizeof e, &second, &status);
  must(status, "mcapi_msg_recv_i");
  while (!mcapi_test(&first, &size, &status)) {
    must(status, "mcapi_test");
    ++failed;
  }
  f = receive_number(node);
  mcapi_wait(&second, &size, MCAPI_TIMEOUT_INFINITE, &status);
  must(status, "mcapi_wait");
  say(node, "node 4 got %d, %d and %d, after %d tests\n", d, e, f, failed);
}

static void node_5(node_t* node) {
  const int g = receive_number(node), h = receive_number(node), i = receive_number(node);
  say(node, "node 5 got %d, %d and %d\n", g, h, i);
}

static void work(node_t* node) {
  if (node->number == 2) node_2(node);
  else if (node->number == 4) node_4(node);
  else if (node->number == 5) node_5(node);
  else node_1_and_3(node);
}

int main(int argc, char** argv) {
  own_words(argc, &argv);
  return run_nodes(5, work);
}
