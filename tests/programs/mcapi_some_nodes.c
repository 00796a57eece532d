/* Some of the nodes of a run, as threads of this process: mcapi_some_nodes FIRST COUNT ALL. A script starts as many of these as it takes. */
#include "nodes.h"

static void work(node_t* node) {
  const int rounds = 20;
  for (int round = 0; round < rounds; ++round)
    for (int other = 1; other <= node->nodes; ++other)
      if (other != node->number) send_number(node, other, node->number);
  for (int i = 0; i < rounds * (node->nodes - 1); ++i) say(node, "%d\n", receive_number(node));
}

int main(int argc, char** argv) {
  static job_t jobs[MAX_NODES];
  pthread_t threads[MAX_NODES];
  if (argc < 4) return 2;
  const int count = atoi(argv[2]);
  for (int i = 0; i < count; ++i) {
    jobs[i].node.number = atoi(argv[1]) + i;
    jobs[i].node.nodes = atoi(argv[3]);
    jobs[i].work = work;
    if (pthread_create(&threads[i], NULL, run_node, &jobs[i]) != 0) return 1;
  }
  for (int i = 0; i < count; ++i) pthread_join(threads[i], NULL);
  return 0;
}
