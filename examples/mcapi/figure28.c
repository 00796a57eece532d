/* Four nodes (DR-MCAPI, Figure 28): 1 and 3 send to 2 and 4. A replay that keeps the order at each node is equivalent; one that keeps
 * the order of all four arrivals is identical. As threads, the nodes count arrivals together; but a node may be interrupted before it
 * counts, so what is told exactly is what `reprise replay --arrivals` writes. */
#include "nodes.h"

#include <stdatomic.h>

static atomic_int arrivals;

static void work(node_t* node) {
  if (node->number % 2 == 1) {
    const int number = node->number == 1 ? 1 : 10;
    send_number(node, 2, number);
    send_number(node, 4, number);
  } else {
    for (int i = 0; i < 2; ++i) {
      const int number = receive_number(node);
      if (as_processes) say(node, "node %d got %d\n", node->number, number);
      else say(node, "node %d got %d, arrival %d\n", node->number, number, atomic_fetch_add(&arrivals, 1) + 1);
    }
  }
}

int main(int argc, char** argv) {
  own_words(argc, &argv);
  return run_nodes(4, work);
}
