/* Nodes 2 and 3 send to node 1, which waits for any of its receives; with messages that are equal, cut off, empty, and as large as can be. */
#include "nodes.h"

#define LARGEST 65536

static char bytes[LARGEST];

static void sends(node_t* node) {
  mcapi_status_t status;
  mcapi_endpoint_t to = 0, other = mcapi_endpoint_create(MCAPI_PORT_ANY, &status);
  mcapi_request_t request;
  size_t size = 0;
  must(status, "mcapi_endpoint_create");
  mcapi_endpoint_get_i(0, 1, 1, &to, &request, &status);
  must(status, "mcapi_endpoint_get_i");
  mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status);
  must(status, "mcapi_wait");
  for (int i = 0; i < 6; ++i) {
    const char equal = 'e';
    const mcapi_endpoint_t from = i % 2 ? other : node->own;
    mcapi_msg_send(from, to, &equal, 1, 1, &status);
    must(status, "equal");
    mcapi_msg_send_i(from, to, node->number == 2 ? "two" : "three", 6, 1, &request, &status);
    must(status, "mcapi_msg_send_i");
    mcapi_wait(&request, &size, MCAPI_TIMEOUT_INFINITE, &status);
    must(status, "mcapi_wait");
    mcapi_msg_send(from, to, bytes, 0, 1, &status);
    must(status, "empty");
    mcapi_msg_send(from, to, node->number == 2 ? "longer than there is room, 2" : "longer than there is room, 3", 29, 1, &status);
    must(status, "long");
  }
  char* const large = calloc(1, LARGEST);
  large[0] = (char)('0' + node->number);
  mcapi_msg_send(node->own, to, large, LARGEST, 2, &status);
  must(status, "as large as can be");
  free(large);
  mcapi_endpoint_delete(other, &status);
  must(status, "mcapi_endpoint_delete");
}

static void receives(node_t* node) {
  enum { AT_ONCE = 4 };
  mcapi_request_t requests[AT_ONCE];
  mcapi_request_t* list[AT_ONCE];
  char texts[AT_ONCE][16];
  mcapi_status_t status;
  for (int i = 0; i < AT_ONCE; ++i) {
    list[i] = &requests[i];
    mcapi_msg_recv_i(node->own, texts[i], sizeof texts[i], &requests[i], &status);
    must(status, "mcapi_msg_recv_i");
  }
  for (int left = 48; left > 0; --left) {
    size_t size = 0;
    const mcapi_uint_t which = mcapi_wait_any(AT_ONCE, list, &size, MCAPI_TIMEOUT_INFINITE, &status);
    say(node, "receive %u: status %d, %.*s (%zu bytes)\n", which, (int)status, (int)size, texts[which], size);
    if (left <= AT_ONCE) { /* no other is posted in its place */
      for (int i = (int)which; i + 1 < AT_ONCE; ++i) list[i] = list[i + 1];
      if (left == 1) break;
      const mcapi_uint_t others = (mcapi_uint_t)left - 1;
      for (mcapi_uint_t i = 0; i < others; ++i) {
        while (!mcapi_test(list[i], &size, &status) && status == MCAPI_PENDING) sched_yield();
        say(node, "then: status %d, %zu bytes\n", (int)status, size);
      }
      break;
    }
    mcapi_msg_recv_i(node->own, texts[which], sizeof texts[which], list[which], &status);
    must(status, "mcapi_msg_recv_i");
  }
  for (int i = 0; i < 2; ++i) {
    size_t size = 0;
    mcapi_msg_recv(node->own, bytes, sizeof bytes, &size, &status);
    must(status, "mcapi_msg_recv");
    say(node, "large: %c (%zu bytes)\n", bytes[0], size);
  }
}

static void work(node_t* node) { node->number == 1 ? receives(node) : sends(node); }

int main(int argc, char** argv) {
  own_words(argc, &argv);
  return run_nodes(3, work);
}
