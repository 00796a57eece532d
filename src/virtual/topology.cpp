#include "virtual/topology.hpp"

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

}  // namespace reprise::virtual_world
