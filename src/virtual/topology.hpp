// Virtual topologies: who is whose neighbour (MPI 4.0, chapter 8).
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace reprise::virtual_world {

// Ranks are numbered row by row: the last coordinate changes fastest.
struct Cartesian {
  std::vector<int> dims;
  std::vector<bool> periodic;

  int size() const;
  std::vector<int> coordinates(int rank) const;
  // nullopt: outside of a dimension that is not periodic.
  std::optional<int> rank(std::span<const int> coordinates) const;
  // Where a shift comes from and where it goes to; nullopt: over the edge (MPI_PROC_NULL).
  std::pair<std::optional<int>, std::optional<int>> shift(int rank, int dimension, int displacement) const;
  // The grid that is left of the dimensions that are kept.
  Cartesian kept(std::span<const int> keep) const;
  // Neighbours in the order of the neighbourhood collectives: per dimension the negative, then the positive one.
  std::vector<std::optional<int>> neighbours(int rank) const;
};

// index[i]: how many edges nodes 0 to i have together; edges: their neighbours, node by node.
struct Graph {
  std::vector<int> index;
  std::vector<int> edges;

  std::span<const int> neighbours(int node) const;
};

struct DistributedGraph {
  std::vector<int> sources, source_weights;
  std::vector<int> destinations, destination_weights;
  bool weighted = false;
};

using Topology = std::variant<std::monostate, Cartesian, Graph, DistributedGraph>;

// How many blocks a neighbourhood collective of this rank receives, and how many it sends.
std::pair<int, int> degrees(const Topology& topology, int rank);
// Where these blocks go, in their order; -1: nowhere.
std::vector<int> outgoing(const Topology& topology, int rank);
// Where they come from, and which block of that neighbour's it is. On a grid that is its number; otherwise how many of
// the neighbour's blocks for this rank come before it. `same_block`: there is only one, for all.
std::vector<std::pair<int, std::size_t>> incoming(const Topology& topology, int rank, bool same_block);

}  // namespace reprise::virtual_world
