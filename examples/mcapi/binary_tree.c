/* A binary tree (DR-MCAPI, section 4.1, BT): each two nodes send to the same parent, from the leaves to the root. Leaves send 10
 * messages of 50 bytes, inner nodes 5. */
#include "nodes.h"

enum { kFromLeaf = 10, kFromInner = 5, kBytes = 50 };

static int is_leaf(const node_t* node, int number) { return 2 * number > node->nodes; }
static int sends(const node_t* node, int number) { return number > node->nodes || number == 1 ? 0 : is_leaf(node, number) ? kFromLeaf : kFromInner; }

static void work(node_t* node) {
  char bytes[kBytes];
  const int children[2] = {2 * node->number, 2 * node->number + 1};
  const int comes = sends(node, children[0]) + sends(node, children[1]);
  const int goes = sends(node, node->number);
  unsigned digest = (unsigned)node->number;
  int gone = 0;
  for (int i = 0; i < comes; ++i) {
    unsigned from, number;
    receive_bytes(node, bytes, sizeof bytes);
    memcpy(&from, bytes, sizeof from);
    memcpy(&number, bytes + sizeof from, sizeof number);
    digest = digest * 31 + from * 7 + number;
    /* An inner node sends one on as soon as it has its share of what comes. */
    while (gone < goes && (i + 1) * goes >= (gone + 1) * comes) {
      memset(bytes, 0, sizeof bytes);
      memcpy(bytes, &node->number, sizeof node->number);
      memcpy(bytes + sizeof node->number, &digest, sizeof digest);
      send_bytes(node, node->number / 2, bytes, sizeof bytes);
      ++gone;
    }
  }
  for (; gone < goes; ++gone) {
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &node->number, sizeof node->number);
    memcpy(bytes + sizeof node->number, &gone, sizeof gone);
    send_bytes(node, node->number / 2, bytes, sizeof bytes);
  }
  say(node, "node %d: %u after %d messages\n", node->number, digest, comes);
}

int main(int argc, char** argv) {
  argc = own_words(argc, &argv);
  const int nodes = argc > 1 ? atoi(argv[1]) : 7;
  if (nodes < 3 || nodes > 21) {
    fprintf(stderr, "binary_tree [--processes] NODES, 3 to 21\n");
    return 2;
  }
  return run_nodes(nodes, work);
}
