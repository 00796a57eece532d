// What a program can ask about its world: ranks, sizes, groups and their arithmetic, comparisons, attributes, names,
// topologies, error handlers, the processor. And a message between, so that runs differ.
#include "common.h"

static int deleted;

static int copy_one(MPI_Comm comm, int keyval, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)keyval, (void)extra;
  *(long*)out = (long)in + 1;
  *flag = 1;
  return MPI_SUCCESS;
}
static int delete_one(MPI_Comm comm, int keyval, void* value, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  deleted += (int)(long)value;
  return MPI_SUCCESS;
}

static void ask_group(const char* what, MPI_Group group) {
  int size, rank, ranks[64], in_world[64];
  MPI_Group world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_size(group, &size);
  MPI_Group_rank(group, &rank);
  char text[512] = "";
  for (int i = 0; i < size; ++i) ranks[i] = i;
  MPI_Group_translate_ranks(group, size, ranks, world, in_world);
  for (int i = 0; i < size; ++i) snprintf(text + strlen(text), 12, " %d", in_world[i]);
  int likeness;
  MPI_Group_compare(group, world, &likeness);
  say("%s: size %d rank %d members%s, like the world: %s", what, size, rank, text,
      likeness == MPI_IDENT ? "identical" : likeness == MPI_SIMILAR ? "similar" : "unequal");
  MPI_Group_free(&world);
}

static void groups(void) {
  MPI_Group all, some, rest, both, common, difference, backwards, none;
  const int first[2] = {2, 0};
  int range[1][3] = {{world_size - 1, 0, -1}};
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 2, first, &some);
  MPI_Group_excl(all, 2, first, &rest);
  MPI_Group_union(rest, some, &both);
  MPI_Group_intersection(all, some, &common);
  MPI_Group_difference(all, some, &difference);
  MPI_Group_range_incl(all, 1, range, &backwards);
  MPI_Group_excl(all, 0, NULL, &none);
  ask_group("some", some);
  ask_group("rest", rest);
  ask_group("both", both);
  ask_group("common", common);
  ask_group("difference", difference);
  ask_group("backwards", backwards);
  ask_group("unchanged", none);
  MPI_Group nobody;  // freed more often than there are empty groups in the library
  for (int i = 0; i < 8; ++i) {
    MPI_Group_difference(all, all, &nobody);
    ask_group("nobody", nobody);
    MPI_Group_free(&nobody);
  }
  MPI_Comm turned, chosen;
  MPI_Comm_create(MPI_COMM_WORLD, backwards, &turned);
  int rank, likeness;
  MPI_Comm_rank(turned, &rank);
  MPI_Comm_compare(MPI_COMM_WORLD, turned, &likeness);
  say("turned rank %d, similar %d", rank, likeness == MPI_SIMILAR);
  MPI_Comm_create(MPI_COMM_WORLD, some, &chosen);
  say("chosen: %s", chosen == MPI_COMM_NULL ? "no" : "yes");
  if (chosen != MPI_COMM_NULL) MPI_Comm_free(&chosen);
  MPI_Comm_free(&turned);
  MPI_Group* const mine[] = {&all, &some, &rest, &both, &common, &difference, &backwards, &none};
  for (int i = 0; i < 8; ++i) MPI_Group_free(mine[i]);
}

static void attributes(void) {
  const int keys[] = {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_APPNUM};
  for (int i = 0; i < 6; ++i) {
    int* value = NULL;
    int flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag);
    say("attribute %d: %d %d", i, flag, flag ? *value : 0);
  }
  int keyval, flag;
  long value;
  MPI_Comm copy, again;
  MPI_Comm_create_keyval(copy_one, delete_one, &keyval, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  MPI_Comm_set_attr(copy, keyval, (void*)10L);
  MPI_Comm_dup(copy, &again);
  MPI_Comm_get_attr(again, keyval, &value, &flag);
  say("copied %d %ld", flag, value);
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  MPI_Comm_set_name(again, "again");
  MPI_Comm_get_name(again, name, &length);
  say("name %s", name);
  MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
  say("name %s", name);
  MPI_Comm_free(&again);
  MPI_Comm_free(&copy);
  MPI_Comm_free_keyval(&keyval);
  say("deleted %d", deleted);
}

static void topologies(void) {
  int dims[2] = {0, 0}, coords[2], back[2], periods[2] = {1, 0}, rank, source, target, kind, n;
  MPI_Comm grid, row, graph;
  MPI_Dims_create(world_size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, coords);
  MPI_Cart_rank(grid, coords, &back[0]);
  MPI_Cart_shift(grid, 0, 1, &source, &target);
  say("grid %dx%d rank %d at %d,%d = %d, shift %d %d", dims[0], dims[1], rank, coords[0], coords[1], back[0], source,
      target);
  MPI_Cart_shift(grid, 1, 1, &source, &target);
  say("other shift %d %d", source == MPI_PROC_NULL ? -99 : source, target == MPI_PROC_NULL ? -99 : target);
  MPI_Cart_get(grid, 2, dims, periods, back);
  MPI_Topo_test(grid, &kind);
  MPI_Cartdim_get(grid, &n);
  say("got %d %d %d %d, %d dimensions, cartesian %d", dims[0], periods[0], periods[1], back[1], n, kind == MPI_CART);
  const int keep[2] = {0, 1};
  MPI_Cart_sub(grid, keep, &row);
  int size, row_rank;
  MPI_Comm_size(row, &size);
  MPI_Comm_rank(row, &row_rank);
  say("row of %d, rank %d", size, row_rank);
  int index[64], edges[128], neighbours[64], count, nodes, all;
  for (int i = 0; i < world_size; ++i) {  // a ring
    index[i] = 2 * (i + 1);
    edges[2 * i] = (i + world_size - 1) % world_size;
    edges[2 * i + 1] = (i + 1) % world_size;
  }
  MPI_Graph_create(MPI_COMM_WORLD, world_size, index, edges, 0, &graph);
  MPI_Graph_neighbors_count(graph, world_rank, &count);
  MPI_Graph_neighbors(graph, world_rank, count, neighbours);
  MPI_Graphdims_get(graph, &nodes, &all);
  say("graph: %d neighbours, %d and %d; %d nodes, %d edges", count, neighbours[0], neighbours[1], nodes, all);
  MPI_Comm_free(&graph);
  MPI_Comm ring;
  const int me[1] = {world_rank}, degree[1] = {1}, next[1] = {(world_rank + 1) % world_size}, weight[1] = {world_rank};
  MPI_Dist_graph_create(MPI_COMM_WORLD, 1, me, degree, next, weight, MPI_INFO_NULL, 0, &ring);
  int in, out, weighted, sources[4], targets[4], w_in[4], w_out[4];
  MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
  MPI_Dist_graph_neighbors(ring, in, sources, w_in, out, targets, w_out);
  say("ring: from %d (%d) to %d (%d), weighted %d", sources[0], w_in[0], targets[0], w_out[0], weighted);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&row);
  MPI_Comm_free(&grid);
}

int main(int argc, char** argv) {
  start(&argc, &argv);
  char name[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(name, &length);
  say("on %s", name);
  for (int round = 0; round < 3; ++round) {
    hear_everybody(200);
    groups();
    attributes();
    topologies();
  }
  MPI_Comm nodes, copy;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &nodes);
  MPI_Request request;
  MPI_Comm_idup(nodes, &copy, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  int size, likeness;
  MPI_Comm_size(copy, &size);
  MPI_Comm_compare(copy, nodes, &likeness);
  say("node of %d, congruent %d", size, likeness == MPI_CONGRUENT);
  MPI_Comm_free(&copy);
  MPI_Comm_free(&nodes);
  finish();
}
