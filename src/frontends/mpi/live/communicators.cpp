// Communicators that explored ranks make (MPI 4.0, 7.4 and 8.5): the members tell each other what they want, and each
// works out for itself who is in the new one. Questions about them are answered by the virtual world
// (border/world_*.cpp).
#include "frontends/mpi/communicators.hpp"

#include <algorithm>
#include <cstring>

#include "frontends/mpi/live/collective.hpp"
#include "frontends/mpi/live/live.hpp"
#include "frontends/mpi/live/provider.hpp"

namespace reprise::mpi::live {

using virtual_world::Cartesian;
using virtual_world::DistributedGraph;
using virtual_world::Graph;
using virtual_world::Group;
using virtual_world::Topology;

namespace {

using Numbers = std::vector<int>;

// Everybody's numbers, by member (all_members).
std::vector<Numbers> tell(Function function, std::uint64_t comm, const std::vector<int>& members, const Numbers& mine) {
  const auto all =
      exchange(function, comm, members, {reinterpret_cast<const std::uint8_t*>(mine.data()), 4 * mine.size()});
  std::vector<Numbers> numbers;
  for (const auto& bytes : all) {
    numbers.emplace_back(bytes.size() / 4);
    if (!bytes.empty()) std::memcpy(numbers.back().data(), bytes.data(), bytes.size());
  }
  return numbers;
}

std::vector<Numbers> tell(Function function, MPI_Comm comm, const Numbers& mine) {
  return tell(function, communicators().uid(comm), all_members(*known(comm)), mine);
}

int give(MPI_Comm parent, Carrier carrier, std::optional<Communicator> made, Topology topology, MPI_Comm* out) {
  live_provider().next = std::move(made);
  return give_communicator(parent, carrier, std::move(topology), out);
}

// Which of the numbers belongs to a member of the group.
const Numbers& of(const std::vector<Numbers>& all, const std::vector<int>& members, int rank) {
  return all[static_cast<std::size_t>(std::find(members.begin(), members.end(), rank) - members.begin())];
}

std::optional<Communicator> with(Group local, std::optional<Group> remote = {}) {
  const auto rank = local.rank_of(actor().rank());
  if (!rank) return std::nullopt;
  Communicator made;
  made.rank = *rank;
  made.local = std::move(local);
  made.remote = std::move(remote);
  return made;
}

// --- of the same processes -------------------------------------------------------------------------------------------

int dup(MPI_Comm comm, MPI_Comm* made) {
  if (!known(comm)) return raise(comm, MPI_ERR_COMM);
  tell(Function::Comm_dup, comm, {});
  return give(comm, Carrier::Duplicate, *known(comm), known(comm)->topology, made);
}

int dup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* made) { return dup(comm, made); }

// Its members are known beforehand; that all have come is known when the request is complete.
int idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  if (!known(comm)) return raise(comm, MPI_ERR_COMM);
  const int rc = give(comm, Carrier::Duplicate, *known(comm), known(comm)->topology, made);
  if (rc != MPI_SUCCESS) return rc;
  return post_collective(
      Function::Comm_idup, comm,
      [](Collective& c) {
        c.waits_for_all();
        c.is_read_by_all();
      },
      request);
}

int idup_with_info(MPI_Comm comm, MPI_Info, MPI_Comm* made, MPI_Request* request) { return idup(comm, made, request); }

// --- of some of them -------------------------------------------------------------------------------------------------

// Those of a group who said this colour, by key and then by rank.
Group of_colour(const std::vector<Numbers>& said, const std::vector<int>& members, const Group& group, int colour) {
  std::vector<std::pair<int, int>> found;
  for (const int rank : group.members())
    if (const Numbers& numbers = of(said, members, rank); numbers[0] == colour) found.emplace_back(numbers[1], rank);
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<int> ranks;
  for (const auto& [key, rank] : found) ranks.push_back(rank);
  return Group(std::move(ranks));
}

int split_by(Function function, MPI_Comm comm, int colour, int key, Topology topology, MPI_Comm* made) {
  const Communicator* const parent = known(comm);
  if (!parent) return raise(comm, MPI_ERR_COMM);
  const auto said = tell(function, comm, {colour, key});
  const auto members = all_members(*parent);
  std::optional<Communicator> result;
  if (colour != MPI_UNDEFINED) {
    std::optional<Group> remote;
    if (parent->inter()) remote = of_colour(said, members, *parent->remote, colour);
    result = with(of_colour(said, members, parent->local, colour), std::move(remote));
    if (result && result->remote && result->remote->size() == 0) result.reset();
  }
  return give(comm, Carrier::Alike, std::move(result), std::move(topology), made);
}

int split(MPI_Comm comm, int colour, int key, MPI_Comm* made) {
  return split_by(Function::Comm_split, comm, colour, key, {}, made);
}

// All virtual ranks share one machine.
int split_type(MPI_Comm comm, int type, int key, MPI_Info, MPI_Comm* made) {
  return split_by(Function::Comm_split_type, comm, type == MPI_UNDEFINED ? MPI_UNDEFINED : 0, key, {}, made);
}

int create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  const Communicator* const parent = known(comm);
  if (!parent) return raise(comm, MPI_ERR_COMM);
  const Group wanted = members(group);
  const auto said = tell(Function::Comm_create, comm, wanted.members());
  std::optional<Group> remote;
  if (parent->inter()) remote = Group(of(said, all_members(*parent), parent->remote->members().front()));
  return give(comm, Carrier::Alike, with(wanted, std::move(remote)), {}, made);
}

int create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  if (!known(comm)) return raise(comm, MPI_ERR_COMM);
  const Group wanted = members(group);
  if (!wanted.rank_of(actor().rank())) {
    *made = handles().comm_null;
    return MPI_SUCCESS;
  }
  std::uint64_t key = communicators().uid(comm) ^ 0x67726f7570ull ^ static_cast<std::uint64_t>(tag) << 40;
  for (const int member : wanted.members()) key = key * 0x9e3779b97f4a7c15ull + static_cast<std::uint64_t>(member) + 1;
  tell(Function::Comm_create_group, key, wanted.members(), {});
  return give(comm, Carrier::Alike, with(wanted), {}, made);
}

// --- of two groups ---------------------------------------------------------------------------------------------------

// The leaders tell each other who is in their groups; each tells its own group.
int intercomm_create(MPI_Comm local, int local_leader, MPI_Comm peer, int remote_leader, int tag, MPI_Comm* made) {
  const Communicator* const mine = known(local);
  if (!mine) return raise(local, MPI_ERR_COMM);
  if (local_leader < 0 || local_leader >= mine->local.size())
    return raise(local, MPI_ERR_RANK, "there is no such local leader");
  Numbers others;
  if (mine->rank == local_leader) {
    const Communicator* const between = known(peer);
    if (!between) return raise(local, MPI_ERR_COMM);
    if (remote_leader < 0 || remote_leader >= between->peers().size()) return raise(local, MPI_ERR_RANK);
    std::vector<int> leaders = {actor().rank(), between->peers().members()[static_cast<std::size_t>(remote_leader)]};
    const int other = leaders[1];
    std::sort(leaders.begin(), leaders.end());
    const std::uint64_t key = communicators().uid(peer) ^ 0x6c656164657273ull ^ static_cast<std::uint64_t>(tag) << 40 ^
                              static_cast<std::uint64_t>(leaders[0]) << 56 ^
                              static_cast<std::uint64_t>(leaders[1]) << 48;
    others = of(tell(Function::Intercomm_create, key, leaders, mine->local.members()), leaders, other);
  }
  const auto said = tell(Function::Intercomm_create, local, others);
  const Numbers remote = of(said, all_members(*mine), mine->local.members()[static_cast<std::size_t>(local_leader)]);
  return give(local, Carrier::Alike, with(mine->local, Group(remote)), {}, made);
}

int intercomm_merge(MPI_Comm comm, int high, MPI_Comm* made) {
  const Communicator* const both = known(comm);
  if (!both || !both->inter()) return raise(comm, MPI_ERR_COMM);
  const auto said = tell(Function::Intercomm_merge, comm, {high});
  const auto all = all_members(*both);
  const bool mine_high = of(said, all, both->local.members().front())[0] != 0;
  const bool others_high = of(said, all, both->remote->members().front())[0] != 0;
  const bool mine_first = mine_high != others_high ? !mine_high : all.front() == both->local.members().front();
  const Group& first = mine_first ? both->local : *both->remote;
  const Group& second = mine_first ? *both->remote : both->local;
  return give(comm, Carrier::Alike, with(first.united_with(second)), {}, made);
}

// --- with a topology -------------------------------------------------------------------------------------------------

Numbers list(int n, const int* values) { return {values, values + std::max(n, 0)}; }

// The first `size` processes; the others are not in it.
int first_of(Function function, MPI_Comm comm, int size, Topology topology, MPI_Comm* made) {
  const Communicator* const parent = known(comm);
  if (!parent) return raise(comm, MPI_ERR_COMM);
  if (size > parent->local.size() || size < 0) return raise(comm, MPI_ERR_DIMS);
  tell(function, comm, {size});
  const auto& all = parent->local.members();
  return give(comm, Carrier::Alike, with(Group({all.begin(), all.begin() + size})), std::move(topology), made);
}

int cart_create(MPI_Comm comm, int n, const int* dims, const int* periods, int, MPI_Comm* made) {
  Cartesian grid{list(n, dims), {}};
  for (int i = 0; i < n; ++i) grid.periodic.push_back(periods[i] != 0);
  return first_of(Function::Cart_create, comm, grid.size(), grid, made);
}

int cart_sub(MPI_Comm comm, const int* keep, MPI_Comm* made) {
  const Communicator* const parent = known(comm);
  const auto* const grid = parent ? std::get_if<Cartesian>(&parent->topology) : nullptr;
  if (!grid) return raise(comm, MPI_ERR_TOPOLOGY);
  const auto at = grid->coordinates(parent->rank);
  int colour = 0;
  int key = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    int& number = keep[i] ? key : colour;
    number = number * grid->dims[i] + at[i];
  }
  return split_by(Function::Cart_sub, comm, colour, key, grid->kept(list(static_cast<int>(grid->dims.size()), keep)),
                  made);
}

int graph_create(MPI_Comm comm, int n, const int* index, const int* edges, int, MPI_Comm* made) {
  const int count = n > 0 ? index[n - 1] : 0;
  return first_of(Function::Graph_create, comm, n, Graph{list(n, index), list(count, edges)}, made);
}

int dist_graph_create_adjacent(MPI_Comm comm, int in, const int* sources, const int* source_weights, int out,
                               const int* destinations, const int* destination_weights, MPI_Info, int, MPI_Comm* made) {
  const Communicator* const parent = known(comm);
  if (!parent) return raise(comm, MPI_ERR_COMM);
  DistributedGraph graph;
  graph.weighted = source_weights != unweighted() && destination_weights != unweighted();
  graph.sources = list(in, sources);
  graph.destinations = list(out, destinations);
  if (graph.weighted) {
    graph.source_weights = list(in, source_weights);
    graph.destination_weights = list(out, destination_weights);
  }
  tell(Function::Dist_graph_create_adjacent, comm, {});
  return give(comm, Carrier::Alike, with(parent->local), std::move(graph), made);
}

// Anybody may name any edge: all tell all, and each takes those that concern it, in the order of ranks.
int dist_graph_create(MPI_Comm comm, int n, const int* sources, const int* degrees, const int* destinations,
                      const int* weights, MPI_Info, int, MPI_Comm* made) {
  const Communicator* const parent = known(comm);
  if (!parent) return raise(comm, MPI_ERR_COMM);
  const bool weighted = weights != unweighted();
  Numbers edges;
  std::size_t at = 0;
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < degrees[i]; ++j, ++at) {
      const int edge[] = {sources[i], destinations[at], weighted ? weights[at] : 1};
      edges.insert(edges.end(), std::begin(edge), std::end(edge));
    }
  DistributedGraph graph;
  graph.weighted = weighted;
  for (const Numbers& said : tell(Function::Dist_graph_create, comm, edges))
    for (std::size_t i = 0; i + 2 < said.size(); i += 3) {
      if (said[i] == parent->rank) {
        graph.destinations.push_back(said[i + 1]);
        if (weighted) graph.destination_weights.push_back(said[i + 2]);
      }
      if (said[i + 1] == parent->rank) {
        graph.sources.push_back(said[i]);
        if (weighted) graph.source_weights.push_back(said[i + 2]);
      }
    }
  return give(comm, Carrier::Alike, with(parent->local), std::move(graph), made);
}

}  // namespace

void put_communicators() {
  put_in_place_of_library(Function::Comm_dup, &dup);
  put_in_place_of_library(Function::Comm_dup_with_info, &dup_with_info);
  put_in_place_of_library(Function::Comm_idup, &idup);
  put_in_place_of_library(Function::Comm_idup_with_info, &idup_with_info);
  put_in_place_of_library(Function::Comm_split, &split);
  put_in_place_of_library(Function::Comm_split_type, &split_type);
  put_in_place_of_library(Function::Comm_create, &create);
  put_in_place_of_library(Function::Comm_create_group, &create_group);
  put_in_place_of_library(Function::Intercomm_create, &intercomm_create);
  put_in_place_of_library(Function::Intercomm_merge, &intercomm_merge);
  put_in_place_of_library(Function::Cart_create, &cart_create);
  put_in_place_of_library(Function::Cart_sub, &cart_sub);
  put_in_place_of_library(Function::Graph_create, &graph_create);
  put_in_place_of_library(Function::Dist_graph_create_adjacent, &dist_graph_create_adjacent);
  put_in_place_of_library(Function::Dist_graph_create, &dist_graph_create);
}

}  // namespace reprise::mpi::live
