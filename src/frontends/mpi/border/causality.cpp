#include "frontends/mpi/border/causality.hpp"

#include <cstdlib>

#include "engine/session.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "frontends/mpi/border/world.hpp"
#include "frontends/mpi/communicators.hpp"
#include "virtual/trace_provider.hpp"

namespace reprise::mpi {

using engine::Session;
using virtual_world::Channel;
using virtual_world::Companions;

namespace {

Companions* g_companions = nullptr;

std::vector<int> neighbours(const virtual_world::Communicator& comm) {
  std::vector<int> ranks;
  if (const auto* grid = std::get_if<virtual_world::Cartesian>(&comm.topology)) {
    for (const auto& rank : grid->neighbours(comm.rank)) ranks.push_back(rank.value_or(MPI_PROC_NULL));
  } else if (const auto* graph = std::get_if<virtual_world::Graph>(&comm.topology)) {
    const auto all = graph->neighbours(comm.rank);
    ranks.assign(all.begin(), all.end());
  } else if (const auto* distributed = std::get_if<virtual_world::DistributedGraph>(&comm.topology)) {
    ranks = distributed->sources;
  }
  return ranks;
}

}  // namespace

Companions* companions() { return g_companions; }

void join_companions() {
  const char* const file = std::getenv("REPRISE_COMPANIONS");
  const char* const list = std::getenv("REPRISE_TOGETHER");
  if (!file || !*file || !list) return;
  std::vector<int> ranks;
  for (const std::string_view word : engine::split(list, ',')) {
    int rank = 0;
    if (engine::parse_number(word, rank)) ranks.push_back(rank);
  }
  const auto joined = Companions::join(file, std::move(ranks));
  if (!joined) Session::get().give_up(joined.error().what);
  g_companions = *joined;
  trace_provider().learn_tags();
}

std::vector<int> members_behind(MPI_Comm comm, Sources sources, int root, const std::vector<int>& some) {
  const virtual_world::Communicator* const known = mpi::known(comm);
  if (!known) return {};
  const std::vector<int>& peers = known->peers().members();
  std::vector<int> ranks;
  const auto all_below = [&](std::size_t end) {
    for (std::size_t i = 0; i < end; ++i) ranks.push_back(static_cast<int>(i));
  };
  switch (sources) {
    case Sources::Nobody: break;
    case Sources::Everybody: all_below(peers.size()); break;
    case Sources::LowerRanks: all_below(static_cast<std::size_t>(known->rank)); break;
    case Sources::Root: ranks = {root}; break;
    case Sources::Some: ranks = some; break;
    case Sources::Neighbours: {
      const std::vector<int> all = neighbours(*known);
      if (some.empty()) ranks = all;
      for (const int index : some)
        if (static_cast<std::size_t>(index) < all.size()) ranks.push_back(all[static_cast<std::size_t>(index)]);
      break;
    }
  }
  std::vector<int> members;
  for (const int rank : ranks)
    if (rank >= 0 && static_cast<std::size_t>(rank) < peers.size())
      members.push_back(peers[static_cast<std::size_t>(rank)]);
  return members;
}

namespace {

std::optional<int> world_rank(MPI_Comm comm, int rank) {
  const virtual_world::Communicator* const known = mpi::known(comm);
  if (!known || rank < 0 || rank >= known->peers().size()) return std::nullopt;
  return known->peers().members()[static_cast<std::size_t>(rank)];
}

}  // namespace

std::optional<Channel> channel_from(MPI_Comm comm, int source, int tag) {
  const auto peer = world_rank(comm, source);
  if (!peer) return std::nullopt;
  return Channel{communicators().uid(comm), *peer, provider().rank(), tag};
}

std::optional<Channel> channel_to(MPI_Comm comm, int dest, int tag) {
  const auto peer = world_rank(comm, dest);
  if (!peer) return std::nullopt;
  return Channel{communicators().uid(comm), provider().rank(), *peer, tag};
}

}  // namespace reprise::mpi
