/* All send to all (DR-MCAPI, section 4.1): CG has 2 to 11 nodes and 10 rounds, TN has 10 nodes and 1 to 10 rounds. In each round, a node
 * sends 50 bytes to every other one, and receives as many. */
#include "nodes.h"

static int rounds = 10;

enum { kBytes = 50 };

static void work(node_t* node) {
  char bytes[kBytes];
  unsigned digest = (unsigned)node->number;
  for (int round = 0; round < rounds; ++round) {
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, &node->number, sizeof node->number);
    memcpy(bytes + sizeof node->number, &round, sizeof round);
    for (int i = 1; i <= node->nodes; ++i)
      if (i != node->number) send_bytes(node, i, bytes, sizeof bytes);
    for (int i = 1; i < node->nodes; ++i) {
      int from, number;
      receive_bytes(node, bytes, sizeof bytes);
      memcpy(&from, bytes, sizeof from);
      memcpy(&number, bytes + sizeof from, sizeof number);
      digest = digest * 31 + (unsigned)from * 7 + (unsigned)number;
    }
  }
  say(node, "node %d: %u\n", node->number, digest);
}

int main(int argc, char** argv) {
  argc = own_words(argc, &argv);
  const int nodes = argc > 1 ? atoi(argv[1]) : 5;
  if (argc > 2) rounds = atoi(argv[2]);
  if (nodes < 2 || nodes > MAX_NODES || rounds < 1) {
    fprintf(stderr, "complete_graph [--processes] NODES [ROUNDS]\n");
    return 2;
  }
  return run_nodes(nodes, work);
}
