// Process topologies: who are the neighbours, in which order, and which message is for which of them.
#include "sweep.h"

static int grid_rank(const struct comm* c, const int* at) {
  int rank = 0;
  for (int i = 0; i < c->ndims; ++i) rank = rank * c->dims[i] + at[i];
  return rank;
}

static void grid_place(const struct comm* c, int rank, int* at) {
  for (int i = c->ndims - 1; i >= 0; --i) {
    at[i] = rank % c->dims[i];
    rank /= c->dims[i];
  }
}

// MPI 4.0, 8.6: by dimension, first the neighbour in the negative direction, then the one in the positive direction.
static int grid_neighbour(const struct comm* c, int rank, int k) {
  int at[kMostDims];
  grid_place(c, rank, at);
  const int i = k / 2;
  at[i] += k % 2 ? 1 : -1;
  if (at[i] < 0 || at[i] >= c->dims[i]) {
    if (!c->periods[i]) return MPI_PROC_NULL;
    at[i] = (at[i] + c->dims[i]) % c->dims[i];
  }
  return grid_rank(c, at);
}

static void room_for(struct neighbours* near, int in, int out) {
  near->in = in;
  near->out = out;
  near->sources = KEEP(int, in + 1);
  near->in_key = KEEP(int, in + 1);
  near->destinations = KEEP(int, out + 1);
  near->out_key = KEEP(int, out + 1);
}

static void find_doubles(struct neighbours* near) {
  for (int k = 0; k < near->in; ++k)
    for (int i = 0; i < k; ++i) near->ambiguous |= near->sources[i] == near->sources[k] && near->sources[k] != MPI_PROC_NULL;
}

static void grid_neighbours(struct comm* c) {
  struct neighbours* near = &c->near;
  room_for(near, 2 * c->ndims, 2 * c->ndims);
  for (int k = 0; k < near->in; ++k) {
    near->sources[k] = near->destinations[k] = grid_neighbour(c, c->rank, k);
    // What is sent in the negative direction is received from the positive direction: MPI 4.0, 8.6 and Annex B.1.1,
    // which makes it an erratum of MPI 3.1.
    near->out_key[k] = k;
    near->in_key[k] = k ^ 1;
  }
  find_doubles(near);
}

// MPI 4.0, 8.6: the k-th edge to a process is the k-th edge from it there.
static void count_edges(struct neighbours* near) {
  for (int k = 0; k < near->in; ++k)
    for (int i = 0; i < k; ++i) near->in_key[k] += near->sources[i] == near->sources[k];
  for (int k = 0; k < near->out; ++k)
    for (int i = 0; i < k; ++i) near->out_key[k] += near->destinations[i] == near->destinations[k];
  find_doubles(near);
}

static void plan_grid(struct draw* d, struct comm* c) {
  c->ndims = (int)draw_between(d, 1, kMostDims);
  int left = draw_chance(d, 75) ? world_size : (int)draw_between(d, 1, world_size);
  for (int i = 0; i < c->ndims; ++i) {
    const int most = i == c->ndims - 1 ? left : (int)draw_between(d, 1, left);
    for (c->dims[i] = most; left % c->dims[i]; --c->dims[i]) {}
    left /= c->dims[i];
    c->periods[i] = draw_chance(d, 60);
  }
  c->size = 1;
  char shape[60] = "";
  for (int i = 0; i < c->ndims; ++i) {
    c->size *= c->dims[i];
    snprintf(shape + strlen(shape), sizeof shape - strlen(shape), "%s%d%s", i ? "x" : "", c->dims[i],
             c->periods[i] ? " periodic" : "");
  }
  snprintf(c->text, sizeof c->text, "a Cartesian grid of %s", shape);
}

static void plan_graph(struct draw* d, struct comm* c) {
  const bool symmetric = c->kind == kGraph;
  c->size = symmetric && draw_chance(d, 25) ? (int)draw_between(d, 1, world_size) : world_size;
  const int drawn = (int)draw_between(d, 0, 3 * c->size);
  c->from = KEEP(int, 4 * drawn + 1);
  c->to = KEEP(int, 4 * drawn + 1);
  for (int i = 0; i < drawn; ++i) {
    const int from = (int)draw_below(d, c->size), to = (int)draw_below(d, c->size);
    // With MPI_Graph_create, the edges between two processes must be as many in both directions (MPI 4.0, 8.6).
    for (int copies = draw_chance(d, 25) ? 2 : 1; copies > 0; --copies) {
      c->from[c->edges] = from;
      c->to[c->edges++] = to;
      if (!symmetric || from == to) continue;
      c->from[c->edges] = to;
      c->to[c->edges++] = from;
    }
  }
  const char* kind = symmetric ? "graph" : c->kind == kDistGraph ? "distributed graph" : "distributed adjacent graph";
  snprintf(c->text, sizeof c->text, "a %s of %d processes and %d edges", kind, c->size, c->edges);
}

void plan_topology(struct draw* d, struct comm* c) {
  if (c->kind == kCart) plan_grid(d, c);
  else plan_graph(d, c);
  c->reorder = draw_chance(d, 15);
  c->member = world_rank < c->size;
  c->rank = c->member ? world_rank : -1;
}

// The ends of all edges from or to a process, in a random order, but in the same one on all processes.
static int ends(const struct comm* c, int rank, bool incoming, int* list) {
  int n = 0;
  for (int i = 0; i < c->edges; ++i)
    if ((incoming ? c->to : c->from)[i] == rank) list[n++] = (incoming ? c->from : c->to)[i];
  struct draw d = {mix(c->shuffle, (uint64_t)(2 * rank + incoming))};
  for (int i = n - 1; i > 0; --i) {
    const int j = (int)draw_below(&d, i + 1), kept = list[i];
    list[i] = list[j];
    list[j] = kept;
  }
  return n;
}

static bool make_grid(struct comm* c) {
  if (!DO(MPI_Cart_create(MPI_COMM_WORLD, c->ndims, c->dims, c->periods, c->reorder, &c->handle))) return false;
  if (c->reorder) c->member = c->handle != MPI_COMM_NULL;
  if (!c->member || c->handle == MPI_COMM_NULL) return true;
  MPI_Comm_rank(c->handle, &c->rank);
  grid_neighbours(c);
  int at[kMostDims], should[kMostDims], rank, kind;
  MPI_Topo_test(c->handle, &kind);
  if (kind != MPI_CART) wrong("MPI_Topo_test does not say MPI_CART");
  grid_place(c, c->rank, should);
  if (!DO(MPI_Cart_coords(c->handle, c->rank, c->ndims, at)) || !DO(MPI_Cart_rank(c->handle, should, &rank))) return false;
  if (memcmp(at, should, sizeof(int) * (size_t)c->ndims) || rank != c->rank) wrong("MPI_Cart_coords or MPI_Cart_rank");
  for (int i = 0; i < c->ndims; ++i) {
    int negative, positive;
    if (!DO(MPI_Cart_shift(c->handle, i, 1, &negative, &positive))) return false;
    const int* near = c->near.sources + 2 * i;
    if (negative != near[0] || positive != near[1])
      wrong("MPI_Cart_shift in dimension %d: %d and %d, should be %d and %d", i, negative, positive, near[0], near[1]);
  }
  return true;
}

static bool make_graph(struct comm* c) {
  int* index = KEEP(int, c->size);
  int* edges = KEEP(int, c->edges + 1);
  int n = 0;
  for (int i = 0; i < c->size; ++i) index[i] = n += ends(c, i, false, edges + n);
  if (!DO(MPI_Graph_create(MPI_COMM_WORLD, c->size, index, edges, c->reorder, &c->handle))) return false;
  if (c->reorder) c->member = c->handle != MPI_COMM_NULL;
  if (!c->member || c->handle == MPI_COMM_NULL) return true;
  MPI_Comm_rank(c->handle, &c->rank);
  const int first = c->rank ? index[c->rank - 1] : 0, degree = index[c->rank] - first;
  room_for(&c->near, degree, degree);
  memcpy(c->near.sources, edges + first, sizeof(int) * (size_t)degree);
  memcpy(c->near.destinations, edges + first, sizeof(int) * (size_t)degree);
  int count;
  int* list = KEEP(int, degree + 1);
  if (!DO(MPI_Graph_neighbors_count(c->handle, c->rank, &count))) return false;
  if (count != degree) wrong("MPI_Graph_neighbors_count is %d, should be %d", count, degree);
  else if (!DO(MPI_Graph_neighbors(c->handle, c->rank, degree, list))) return false;
  else if (memcmp(list, c->near.sources, sizeof(int) * (size_t)degree)) wrong("MPI_Graph_neighbors has another order");
  return true;
}

static int ascending(const void* a, const void* b) { return *(const int*)a - *(const int*)b; }

static bool same_list(const int* a, const int* b, int n, bool any_order) {
  int* sorted = KEEP(int, 2 * n + 1);
  memcpy(sorted, a, sizeof(int) * (size_t)n);
  memcpy(sorted + n, b, sizeof(int) * (size_t)n);
  if (any_order) qsort(sorted, (size_t)n, sizeof(int), ascending);
  if (any_order) qsort(sorted + n, (size_t)n, sizeof(int), ascending);
  return memcmp(sorted, sorted + n, sizeof(int) * (size_t)n) == 0;
}

static bool make_dist_graph(struct comm* c) {
  int* sources = KEEP(int, c->edges + 1);
  int* targets = KEEP(int, c->edges + 1);
  int* weights = KEEP(int, c->edges + 1);
  const bool weighted = c->way == 0;
  const int* const weight = weighted ? weights : MPI_UNWEIGHTED;
  if (c->kind == kDistGraphAdjacent) {
    const int in = ends(c, world_rank, true, sources), out = ends(c, world_rank, false, targets);
    if (!DO(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, weight, out, targets, weight, MPI_INFO_NULL,
                                           c->reorder, &c->handle)))
      return false;
  } else {
    // Every edge is named by any one process.
    int* degrees = KEEP(int, c->edges + 1);
    int n = 0;
    for (int i = 0; i < c->edges; ++i) {
      if ((int)(mix(c->shuffle, (uint64_t)i) % (uint64_t)world_size) != world_rank) continue;
      sources[n] = c->from[i];
      targets[n] = c->to[i];
      degrees[n++] = 1;
    }
    if (!DO(MPI_Dist_graph_create(MPI_COMM_WORLD, n, sources, degrees, targets, weight, MPI_INFO_NULL, c->reorder,
                                  &c->handle)))
      return false;
  }
  MPI_Comm_rank(c->handle, &c->rank);
  const int in = ends(c, c->rank, true, sources), out = ends(c, c->rank, false, targets);
  int got_in, got_out, got_weighted;
  if (!DO(MPI_Dist_graph_neighbors_count(c->handle, &got_in, &got_out, &got_weighted))) return false;
  if (got_in != in || got_out != out) wrong("MPI_Dist_graph_neighbors_count is %d, %d, should be %d, %d", got_in, got_out, in, out);
  if (!got_weighted != !weighted) wrong("MPI_Dist_graph_neighbors_count: weighted is %d", got_weighted);
  if (is_wrong()) return false;
  room_for(&c->near, in, out);
  int* in_weights = KEEP(int, in + 1);
  int* out_weights = KEEP(int, out + 1);
  if (!DO(MPI_Dist_graph_neighbors(c->handle, in, c->near.sources, weighted ? in_weights : MPI_UNWEIGHTED, out,
                                   c->near.destinations, weighted ? out_weights : MPI_UNWEIGHTED)))
    return false;
  // MPI 3.1, 7.5.5: the order is the one of the creation with MPI_Dist_graph_create_adjacent, otherwise any.
  const bool any = c->kind == kDistGraph;
  if (!same_list(sources, c->near.sources, in, any)) wrong("MPI_Dist_graph_neighbors names other sources");
  if (!same_list(targets, c->near.destinations, out, any)) wrong("MPI_Dist_graph_neighbors names other destinations");
  return !is_wrong();
}

bool make_topology(struct comm* c) {
  if (c->kind == kCart) return make_grid(c);
  const bool well = c->kind == kGraph ? make_graph(c) : make_dist_graph(c);
  if (well && c->member) count_edges(&c->near);
  return well;
}
