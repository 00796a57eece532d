// Cartesian, graph and distributed graph communicators of a rank that runs alone (MPI 4.0, chapter 8).
#include <algorithm>

#include "frontends/mpi/border/world.hpp"

namespace reprise::mpi {

using virtual_world::Cartesian;
using virtual_world::Communicator;
using virtual_world::DistributedGraph;
using virtual_world::Graph;

namespace {

template <class Kind>
const Kind* topology(MPI_Comm comm) {
  const Communicator* const found = known(comm);
  return found ? std::get_if<Kind>(&found->topology) : nullptr;
}

int refuse(MPI_Comm comm, int error) {
  singleton_function<int (*)(MPI_Comm, int)>(Function::Comm_call_errhandler)(comm, error);
  return error;
}

std::vector<int> list(int n, const int* values) { return {values, values + std::max(n, 0)}; }

int rank_or_null(const std::optional<int>& rank) { return rank.value_or(MPI_PROC_NULL); }

// --- new ones -------------------------------------------------------------------------------------------------------

int Cart_create(MPI_Comm comm, int n, const int* dims, const int* periods, int, MPI_Comm* made) {
  Cartesian grid{list(n, dims), {}};
  for (int i = 0; i < n; ++i) grid.periodic.push_back(periods[i] != 0);
  return give_communicator(comm, Carrier::Alike, std::move(grid), made);
}

int Cart_sub(MPI_Comm comm, const int* keep, MPI_Comm* made) {
  const auto* grid = topology<Cartesian>(comm);
  if (!grid) return refuse(comm, MPI_ERR_TOPOLOGY);
  return give_communicator(comm, Carrier::Alike, grid->kept(list(static_cast<int>(grid->dims.size()), keep)), made);
}

int Graph_create(MPI_Comm comm, int n, const int* index, const int* edges, int, MPI_Comm* made) {
  const int count = n > 0 ? index[n - 1] : 0;
  return give_communicator(comm, Carrier::Alike, Graph{list(n, index), list(count, edges)}, made);
}

int Dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights, int out,
                               const int* destinations, const int* destination_weights, MPI_Info, int, MPI_Comm* made) {
  DistributedGraph graph;
  graph.weighted = source_weights != unweighted() && destination_weights != unweighted();
  graph.sources = list(in, sources);
  graph.destinations = list(out, destinations);
  if (graph.weighted) {
    graph.source_weights = list(in, source_weights);
    graph.destination_weights = list(out, destination_weights);
  }
  return give_communicator(comm, Carrier::Alike, std::move(graph), made);
}

// --- questions ------------------------------------------------------------------------------------------------------

int Topo_test(MPI_Comm comm, int* kind) {
  *kind = topology<Cartesian>(comm)          ? MPI_CART
          : topology<Graph>(comm)            ? MPI_GRAPH
          : topology<DistributedGraph>(comm) ? MPI_DIST_GRAPH
                                             : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int Cartdim_get(MPI_Comm comm, int* n) {
  const auto* grid = topology<Cartesian>(comm);
  if (!grid) return refuse(comm, MPI_ERR_TOPOLOGY);
  *n = static_cast<int>(grid->dims.size());
  return MPI_SUCCESS;
}

int Cart_coords(MPI_Comm comm, int rank, int n, int* coords) {
  const auto* grid = topology<Cartesian>(comm);
  if (!grid) return refuse(comm, MPI_ERR_TOPOLOGY);
  if (rank < 0 || rank >= grid->size()) return refuse(comm, MPI_ERR_RANK);
  const auto at = grid->coordinates(rank);
  std::copy_n(at.begin(), std::min<std::size_t>(at.size(), n > 0 ? static_cast<std::size_t>(n) : 0), coords);
  return MPI_SUCCESS;
}

int Cart_get(MPI_Comm comm, int n, int* dims, int* periods, int* coords) {
  const auto* grid = topology<Cartesian>(comm);
  if (!grid) return refuse(comm, MPI_ERR_TOPOLOGY);
  for (std::size_t i = 0; i < grid->dims.size() && static_cast<int>(i) < n; ++i) {
    dims[i] = grid->dims[i];
    periods[i] = grid->periodic[i];
  }
  return Cart_coords(comm, known(comm)->rank, n, coords);
}

int Cart_rank(MPI_Comm comm, const int* coords, int* rank) {
  const auto* grid = topology<Cartesian>(comm);
  if (!grid) return refuse(comm, MPI_ERR_TOPOLOGY);
  const auto found = grid->rank(list(static_cast<int>(grid->dims.size()), coords));
  if (!found) return refuse(comm, MPI_ERR_ARG);
  *rank = *found;
  return MPI_SUCCESS;
}

int Cart_shift(MPI_Comm comm, int dimension, int displacement, int* source, int* destination) {
  const auto* grid = topology<Cartesian>(comm);
  if (!grid) return refuse(comm, MPI_ERR_TOPOLOGY);
  if (dimension < 0 || dimension >= static_cast<int>(grid->dims.size())) return refuse(comm, MPI_ERR_DIMS);
  const auto [from, to] = grid->shift(known(comm)->rank, dimension, displacement);
  *source = rank_or_null(from);
  *destination = rank_or_null(to);
  return MPI_SUCCESS;
}

int Graphdims_get(MPI_Comm comm, int* nodes, int* edges) {
  const auto* graph = topology<Graph>(comm);
  if (!graph) return refuse(comm, MPI_ERR_TOPOLOGY);
  *nodes = static_cast<int>(graph->index.size());
  *edges = static_cast<int>(graph->edges.size());
  return MPI_SUCCESS;
}

int Graph_get(MPI_Comm comm, int nodes, int edges, int* index, int* edge_list) {
  const auto* graph = topology<Graph>(comm);
  if (!graph) return refuse(comm, MPI_ERR_TOPOLOGY);
  std::copy_n(graph->index.begin(), std::min<std::size_t>(graph->index.size(), static_cast<std::size_t>(nodes)), index);
  std::copy_n(graph->edges.begin(), std::min<std::size_t>(graph->edges.size(), static_cast<std::size_t>(edges)),
              edge_list);
  return MPI_SUCCESS;
}

int Graph_neighbors_count(MPI_Comm comm, int rank, int* count) {
  const auto* graph = topology<Graph>(comm);
  if (!graph) return refuse(comm, MPI_ERR_TOPOLOGY);
  if (rank < 0 || rank >= static_cast<int>(graph->index.size())) return refuse(comm, MPI_ERR_RANK);
  *count = static_cast<int>(graph->neighbours(rank).size());
  return MPI_SUCCESS;
}

int Graph_neighbors(MPI_Comm comm, int rank, int n, int* neighbours) {
  int count = 0;
  if (const int rc = Graph_neighbors_count(comm, rank, &count); rc != MPI_SUCCESS) return rc;
  const auto all = topology<Graph>(comm)->neighbours(rank);
  std::copy_n(all.begin(), std::min(count, n), neighbours);
  return MPI_SUCCESS;
}

int Dist_graph_neighbors_count(MPI_Comm comm, int* in, int* out, int* weighted) {
  const auto* graph = topology<DistributedGraph>(comm);
  if (!graph) return refuse(comm, MPI_ERR_TOPOLOGY);
  *in = static_cast<int>(graph->sources.size());
  *out = static_cast<int>(graph->destinations.size());
  *weighted = graph->weighted;
  return MPI_SUCCESS;
}

int Dist_graph_neighbors(MPI_Comm comm, int in, int* sources, int* source_weights, int out, int* destinations,
                         int* destination_weights) {
  const auto* graph = topology<DistributedGraph>(comm);
  if (!graph) return refuse(comm, MPI_ERR_TOPOLOGY);
  const auto copy = [](const std::vector<int>& from, int n, int* to) {
    std::copy_n(from.begin(), std::min<std::size_t>(from.size(), n > 0 ? static_cast<std::size_t>(n) : 0), to);
  };
  copy(graph->sources, in, sources);
  copy(graph->destinations, out, destinations);
  if (graph->weighted && source_weights != unweighted()) copy(graph->source_weights, in, source_weights);
  if (graph->weighted && destination_weights != unweighted())
    copy(graph->destination_weights, out, destination_weights);
  return MPI_SUCCESS;
}

// What a library would choose is not known without it: the processes stay as they are.
int Cart_map(MPI_Comm comm, int n, const int* dims, const int*, int* rank) {
  int size = 1;
  for (int i = 0; i < n; ++i) size *= dims[i];
  const Communicator* const found = known(comm);
  *rank = found && found->rank < size ? found->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

int Graph_map(MPI_Comm comm, int n, const int*, const int*, int* rank) {
  const Communicator* const found = known(comm);
  *rank = found && found->rank < n ? found->rank : MPI_UNDEFINED;
  return MPI_SUCCESS;
}

}  // namespace

void put_topologies_at_border() {
  put_in_world(Function::Cart_create, &Cart_create);
  put_in_world(Function::Cart_sub, &Cart_sub);
  put_in_world(Function::Graph_create, &Graph_create);
  put_in_world(Function::Dist_graph_create_adjacent, &Dist_graph_create_adjacent);
  put_in_world(Function::Topo_test, &Topo_test);
  put_in_world(Function::Cartdim_get, &Cartdim_get);
  put_in_world(Function::Cart_coords, &Cart_coords);
  put_in_world(Function::Cart_get, &Cart_get);
  put_in_world(Function::Cart_rank, &Cart_rank);
  put_in_world(Function::Cart_shift, &Cart_shift);
  put_in_world(Function::Cart_map, &Cart_map);
  put_in_world(Function::Graphdims_get, &Graphdims_get);
  put_in_world(Function::Graph_get, &Graph_get);
  put_in_world(Function::Graph_map, &Graph_map);
  put_in_world(Function::Graph_neighbors_count, &Graph_neighbors_count);
  put_in_world(Function::Graph_neighbors, &Graph_neighbors);
  put_in_world(Function::Dist_graph_neighbors_count, &Dist_graph_neighbors_count);
  put_in_world(Function::Dist_graph_neighbors, &Dist_graph_neighbors);
}

}  // namespace reprise::mpi
