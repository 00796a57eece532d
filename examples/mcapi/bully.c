/* The bully algorithm (Garcia-Molina; DR-MCAPI, section 4.1): the node with the highest number becomes the leader. Who wants an
 * election asks all higher ones; who is asked answers, and asks in turn; who gets no answer has won and says so. Messages are 4 bytes.
 *
 * A node knows that no answer comes because the higher ones that were not there say so: each election, some nodes are down. */
#include "nodes.h"

enum { Election = 1, Answer, Down, Coordinator };

static int elections = 3;

static int is_down(int number, int election, int nodes) { return election > 0 && number == nodes - election + 1; }

static void send_kind(node_t* node, int to, int kind, int election) { send_number(node, to, kind | node->number << 8 | election << 16); }

static void work(node_t* node) {
  unsigned digest = (unsigned)node->number;
  int later[1024], kept = 0;
  for (int election = 0; election < elections; ++election) {
    const int down = is_down(node->number, election, node->nodes);
    const int higher = node->nodes - node->number;
    int asks = higher;  /* everybody notices that the leader is gone */
    int alive_above = 0, leader = 0, asked = 0;
    if (!down)
      for (int i = node->number + 1; i <= node->nodes; ++i) send_kind(node, i, Election, election);
    else asks = 0;
    /* What must come: an election from each lower one that is not down, an answer to each question, and the winner. */
    int lower = 0;
    for (int i = 1; i < node->number; ++i) lower += !is_down(i, election, node->nodes);
    for (;;) {
      if (asks == 0 && leader == 0 && !down && alive_above == 0 && asked == lower) {
        leader = node->number;
        for (int i = 1; i <= node->nodes; ++i)
          if (i != node->number) send_kind(node, i, Coordinator, election);
      }
      if (leader != 0 && asks == 0 && asked == lower) break;
      int message = 0;
      for (int i = 0; i < kept && message == 0; ++i)
        if (later[i] >> 16 == election) {
          message = later[i];
          later[i] = later[--kept];
        }
      if (message == 0) message = receive_number(node);
      const int kind = message & 0xff, from = message >> 8 & 0xff;
      if (message >> 16 != election) {
        later[kept++] = message;
        continue;
      }
      digest = digest * 31 + (unsigned)message;
      if (kind == Election) {
        ++asked;
        send_kind(node, from, down ? Down : Answer, election);
      } else if (kind == Coordinator) {
        leader = from;
      } else {
        --asks;
        alive_above += kind == Answer;
      }
    }
    say(node, "node %d, election %d: %d leads%s, %u\n", node->number, election, leader, down ? ", from below" : "", digest);
  }
}

int main(int argc, char** argv) {
  argc = own_words(argc, &argv);
  const int nodes = argc > 1 ? atoi(argv[1]) : 5;
  if (nodes < 3 || nodes > 12) {
    fprintf(stderr, "bully [--processes] NODES, 3 to 12\n");
    return 2;
  }
  return run_nodes(nodes, work);
}
