#include "virtual/topology.hpp"

#include <algorithm>

#include <cstddef>

namespace reprise::virtual_world {

int Cartesian::size() const {
  int product = 1;
  for (const int extent : dims) product *= extent;
  return product;
}

std::vector<int> Cartesian::coordinates(int rank) const {
  std::vector<int> result(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    result[i] = rank % dims[i];
    rank /= dims[i];
  }
  return result;
}

std::optional<int> Cartesian::rank(std::span<const int> coordinates) const {
  int result = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    int at = coordinates[i];
    if (at < 0 || at >= dims[i]) {
      if (!periodic[i]) return std::nullopt;
      at = (at % dims[i] + dims[i]) % dims[i];
    }
    result = result * dims[i] + at;
  }
  return result;
}

std::pair<std::optional<int>, std::optional<int>> Cartesian::shift(int from, int dimension, int displacement) const {
  const auto moved = [&](int by) {
    std::vector<int> at = coordinates(from);
    at[static_cast<std::size_t>(dimension)] += by;
    return rank(at);
  };
  return {moved(-displacement), moved(displacement)};
}

Cartesian Cartesian::kept(std::span<const int> keep) const {
  Cartesian rest;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (!keep[i]) continue;
    rest.dims.push_back(dims[i]);
    rest.periodic.push_back(periodic[i]);
  }
  return rest;
}

std::vector<std::optional<int>> Cartesian::neighbours(int rank) const {
  std::vector<std::optional<int>> result;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto [source, destination] = shift(rank, static_cast<int>(i), 1);
    result.push_back(source);
    result.push_back(destination);
  }
  return result;
}

std::span<const int> Graph::neighbours(int node) const {
  const auto at = static_cast<std::size_t>(node);
  const auto begin = at == 0 ? 0 : static_cast<std::size_t>(index[at - 1]);
  return std::span(edges).subspan(begin, static_cast<std::size_t>(index[at]) - begin);
}

std::pair<int, int> degrees(const Topology& topology, int rank) {
  if (const auto* grid = std::get_if<Cartesian>(&topology)) {
    const int both = 2 * static_cast<int>(grid->dims.size());
    return {both, both};
  }
  if (const auto* graph = std::get_if<Graph>(&topology)) {
    const int count = static_cast<int>(graph->neighbours(rank).size());
    return {count, count};
  }
  if (const auto* graph = std::get_if<DistributedGraph>(&topology))
    return {static_cast<int>(graph->sources.size()), static_cast<int>(graph->destinations.size())};
  return {0, 0};
}

std::vector<int> outgoing(const Topology& topology, int rank) {
  std::vector<int> to;
  if (const auto* grid = std::get_if<Cartesian>(&topology))
    for (const auto& neighbour : grid->neighbours(rank)) to.push_back(neighbour.value_or(-1));
  else if (const auto* graph = std::get_if<Graph>(&topology))
    for (const int neighbour : graph->neighbours(rank)) to.push_back(neighbour);
  else if (const auto* free = std::get_if<DistributedGraph>(&topology)) to = free->destinations;
  return to;
}

// On a grid, what goes down one dimension comes from above at the other end: edges 2d and 2d+1 change places.
// Otherwise, between two processes, edges keep their order.
std::vector<std::pair<int, std::size_t>> incoming(const Topology& topology, int rank, bool same_block) {
  std::vector<std::pair<int, std::size_t>> from;
  if (const auto* grid = std::get_if<Cartesian>(&topology)) {
    const auto neighbours = grid->neighbours(rank);
    for (std::size_t i = 0; i < neighbours.size(); ++i)
      from.emplace_back(neighbours[i].value_or(-1), same_block ? 0 : i ^ 1);
    return from;
  }
  std::vector<int> sources;
  if (const auto* graph = std::get_if<Graph>(&topology))
    for (const int neighbour : graph->neighbours(rank)) sources.push_back(neighbour);
  else if (const auto* free = std::get_if<DistributedGraph>(&topology)) sources = free->sources;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const auto before = static_cast<std::size_t>(
        std::count(sources.begin(), sources.begin() + static_cast<std::ptrdiff_t>(i), sources[i]));
    from.emplace_back(sources[i], same_block ? 0 : before);
  }
  return from;
}

}  // namespace reprise::virtual_world
