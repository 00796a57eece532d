#include "frontends/mpi/flow/groups.hpp"

#include <memory>
#include <unordered_map>

#include "base/spin.hpp"
#include "frontends/mpi/communicators.hpp"
#include "frontends/mpi/entry.hpp"
#include "trace/intention_log.hpp"

namespace reprise::mpi::flow {
namespace {

using virtual_world::Cartesian;
using virtual_world::DistributedGraph;

// An array of so many numbers, and one more, for libraries that want a place to point to.
std::vector<int> room(int count) { return std::vector<int>(static_cast<std::size_t>(count > 0 ? count : 0) + 1); }
void trim(std::vector<int>& numbers) { numbers.pop_back(); }

Cartesian grid_of(MPI_Comm comm) {
  int count = 0;
  library_function<int (*)(MPI_Comm, int*)>(Function::Cartdim_get)(comm, &count);
  Cartesian grid;
  grid.dims = room(count);
  auto periodic = room(count);
  auto coordinates = room(count);
  using Get = int (*)(MPI_Comm, int, int*, int*, int*);
  library_function<Get>(Function::Cart_get)(comm, count, grid.dims.data(), periodic.data(), coordinates.data());
  trim(grid.dims);
  for (int i = 0; i < count; ++i) grid.periodic.push_back(periodic[static_cast<std::size_t>(i)] != 0);
  return grid;
}

virtual_world::Graph graph_of(MPI_Comm comm) {
  int nodes = 0;
  int edges = 0;
  library_function<int (*)(MPI_Comm, int*, int*)>(Function::Graphdims_get)(comm, &nodes, &edges);
  virtual_world::Graph graph{room(nodes), room(edges)};
  using Get = int (*)(MPI_Comm, int, int, int*, int*);
  library_function<Get>(Function::Graph_get)(comm, nodes, edges, graph.index.data(), graph.edges.data());
  trim(graph.index);
  trim(graph.edges);
  return graph;
}

DistributedGraph distributed_graph_of(MPI_Comm comm) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  using Count = int (*)(MPI_Comm, int*, int*, int*);
  library_function<Count>(Function::Dist_graph_neighbors_count)(comm, &in, &out, &weighted);
  DistributedGraph graph;
  graph.sources = room(in);
  graph.source_weights = room(in);
  graph.destinations = room(out);
  graph.destination_weights = room(out);
  using Ask = int (*)(MPI_Comm, int, int*, int*, int, int*, int*);
  library_function<Ask>(Function::Dist_graph_neighbors)(comm, in, graph.sources.data(), graph.source_weights.data(), out,
                                                        graph.destinations.data(), graph.destination_weights.data());
  trim(graph.sources);
  trim(graph.destinations);
  return graph;
}

std::unique_ptr<Group> ask(MPI_Comm comm, std::int64_t number) {
  auto group = std::make_unique<Group>();
  int size = 0;
  int inter = 0;
  int remote = 0;
  library_function<int (*)(MPI_Comm, int*)>(Function::Comm_rank)(comm, &group->me);
  library_function<int (*)(MPI_Comm, int*)>(Function::Comm_size)(comm, &size);
  library_function<int (*)(MPI_Comm, int*)>(Function::Comm_test_inter)(comm, &inter);
  if (inter) library_function<int (*)(MPI_Comm, int*)>(Function::Comm_remote_size)(comm, &remote);
  group->uid = communicators().uid(comm);
  group->local = communicators().local_members(number);
  for (int i = 0; i < remote; ++i) group->remote.push_back(communicators().world_rank(number, i));
  int kind = MPI_UNDEFINED;
  if (!inter) library_function<int (*)(MPI_Comm, int*)>(Function::Topo_test)(comm, &kind);
  if (kind == MPI_CART) group->topology = grid_of(comm);
  if (kind == MPI_GRAPH) group->topology = graph_of(comm);
  if (kind == MPI_DIST_GRAPH) group->topology = distributed_graph_of(comm);
  return group;
}

struct Book {
  std::atomic_flag lock;
  std::unordered_map<std::int64_t, std::unique_ptr<Group>> all;  // by the number of the communicator, which is never used again
  std::uint32_t (*number)(const Group&) = nullptr;
};
Book& book() {
  static auto* const one = new Book();  // never destroyed: the program may call MPI while it ends
  return *one;
}

struct LastGroup {
  std::int64_t number = -1;
  const Group* group = nullptr;
};
thread_local LastGroup t_last __attribute__((tls_model("initial-exec")));

}  // namespace

std::uint64_t Group::most_pieces() const { return trace::most_pieces(local.size() + remote.size()); }

const Group* group_of(MPI_Comm comm) {
  const std::int64_t number = communicator_number(comm);
  if (number == engine::kNoComm) return nullptr;
  if (t_last.number == number) [[likely]]
    return t_last.group;
  {
    const Spin spin(&book().lock);
    const auto found = book().all.find(number);
    if (found != book().all.end()) {
      t_last = {number, found->second.get()};
      return t_last.group;
    }
  }
  auto made = ask(comm, number);
  const Spin spin(&book().lock);
  auto& slot = book().all[number];
  if (!slot) {
    slot = std::move(made);
    slot->number = book().number(*slot);
  }
  t_last = {number, slot.get()};
  return slot.get();
}

void number_groups_with(std::uint32_t (*number)(const Group& group)) { book().number = number; }

}  // namespace reprise::mpi::flow
