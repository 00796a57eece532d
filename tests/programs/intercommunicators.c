// Wildcards across an intercommunicator (ranks are of the remote group), on its merge, and on a distributed graph, whose
// order of neighbours is itself not the same in every run.
#include "common.h"

enum { kEach = 12 };

static void stream(MPI_Comm comm, int receiver, int to, int count, const char* name) {
  if (receiver) {
    for (int i = 0; i < count; ++i) {
      int value;
      MPI_Status status;
      MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
      took(name, status.MPI_SOURCE, status.MPI_TAG, value);
    }
  } else {
    for (int i = 0; i < kEach; ++i) {
      int value = world_rank * 1000 + i;
      jitter(150);
      MPI_Send(&value, 1, MPI_INT, to, i % 3, comm);
    }
  }
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  MPI_Comm half, inter, merged, graph;
  const int side = world_rank % 2, others = world_size - (world_size + 1) / 2;
  MPI_Comm_split(MPI_COMM_WORLD, side, world_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 3, &inter);
  // Even world ranks receive from all odd ones: rank 0 of that side.
  if (side == 1 || world_rank == 0) stream(inter, side == 0, 0, kEach * others, "inter");
  int sum = 0, mine = (int)(digest & 0xff);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, inter);
  fold((uint64_t)sum);
  MPI_Intercomm_merge(inter, side, &merged);
  stream(merged, world_rank == 0, 0, kEach * (world_size - 1), "merged");

  // Everybody names the edges that lead from everybody to the rank after it, and from itself to all.
  int sources[1] = {world_rank}, degrees[1] = {world_size - 1}, targets[64], n = 0;
  for (int i = 0; i < world_size; ++i)
    if (i != world_rank) targets[n++] = i;
  jitter(300);
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, sources, degrees, targets, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
  int in, out, weighted, from[64], to[64], got[64], give[64];
  MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(graph, in, from, MPI_UNWEIGHTED, out, to, MPI_UNWEIGHTED);
  for (int i = 0; i < in; ++i) say("from %d", from[i]);
  for (int i = 0; i < out; ++i) give[i] = world_rank * 100 + to[i];
  MPI_Neighbor_alltoall(give, 1, MPI_INT, got, 1, MPI_INT, graph);
  for (int i = 0; i < in; ++i) took("neighbour", from[i], 0, got[i]);
  stream(graph, world_rank == 0, 0, kEach * (world_size - 1), "graph");

  MPI_Comm_free(&graph);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  finish();
}
