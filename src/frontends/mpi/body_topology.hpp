// MPI_Dist_graph_create: in which order a process sees its neighbours.
//
// Every process may name any edges, and the library collects them as they arrive: MPICH's order of neighbours differs
// from run to run, and with it what neighbourhood collectives put where. The order is logged, and a replay makes the
// communicator from the lists as they were (MPI_Dist_graph_create_adjacent).
#pragma once

#include <algorithm>
#include <vector>

#include "frontends/mpi/body_completion.hpp"

namespace reprise::mpi::bodies {

struct Neighbours {
  std::vector<int> sources, source_weights, destinations, destination_weights;
  bool weighted = false;
};

// False if they could not be asked for.
inline bool ask_neighbours(MPI_Comm comm, Neighbours& out) {
  int in = 0;
  int outgoing = 0;
  int weighted = 0;
  using Count = int (*)(MPI_Comm, int*, int*, int*);
  using List = int (*)(MPI_Comm, int, int*, int*, int, int*, int*);
  if (resolve_function<Count>(Function::Dist_graph_neighbors_count)(comm, &in, &outgoing, &weighted) != MPI_SUCCESS)
    return false;
  out.weighted = weighted;
  // Never empty: a list's address is passed even if nothing is to be written there.
  for (auto* list : {&out.sources, &out.source_weights}) list->resize(static_cast<std::size_t>(in) + 1);
  for (auto* list : {&out.destinations, &out.destination_weights}) list->resize(static_cast<std::size_t>(outgoing) + 1);
  if (resolve_function<List>(Function::Dist_graph_neighbors)(
          comm, in, out.sources.data(), weighted ? out.source_weights.data() : unweighted(), outgoing,
          out.destinations.data(), weighted ? out.destination_weights.data() : unweighted()) != MPI_SUCCESS)
    return false;
  for (auto* list : {&out.sources, &out.source_weights, &out.destinations, &out.destination_weights}) list->pop_back();
  return true;
}

// As a list of numbers: weighted or not, how many sources, then the four lists one after the other.
inline std::vector<int> flattened(const Neighbours& neighbours) {
  std::vector<int> flat = {neighbours.weighted, static_cast<int>(neighbours.sources.size())};
  for (const auto* list :
       {&neighbours.sources, &neighbours.source_weights, &neighbours.destinations, &neighbours.destination_weights})
    flat.insert(flat.end(), list->begin(), list->end());
  return flat;
}

inline bool unflattened(const std::vector<std::uint32_t>& flat, Neighbours& out) {
  if (flat.size() < 2) return false;
  const std::size_t sources = flat[1];
  if (2 * sources + 2 > flat.size() || flat.size() % 2 != 0) return false;
  const std::size_t destinations = (flat.size() - 2) / 2 - sources;
  out.weighted = flat[0] != 0;
  auto at = flat.begin() + 2;
  const auto take = [&](std::vector<int>& list, std::size_t count) {
    list.assign(at, at + static_cast<std::ptrdiff_t>(count));
    at += static_cast<std::ptrdiff_t>(count);
  };
  take(out.sources, sources);
  take(out.source_weights, sources);
  take(out.destinations, destinations);
  take(out.destination_weights, destinations);
  return true;
}

template <class Real>
int Dist_graph_create(Entry& entry, Real real, MPI_Comm comm, int n, const int* sources, const int* degrees,
                      const int* destinations, const int* weights, MPI_Info info, int reorder, MPI_Comm* made) {
  Call call;
  call.comm(comm);
  entry.begin(call);
  int rc;
  Neighbours neighbours;
  std::vector<std::uint32_t> list;
  bool known = false;
  if (entry.replaying() && Session::get().replaying_now()) {
    bool undefined = false;
    Session::get().insist(Session::get().replayer().indices(list, undefined));
    known = !undefined && unflattened(list, neighbours);
  }
  if (known) {
    using Adjacent =
        int (*)(MPI_Comm, int, const int*, const int*, int, const int*, const int*, MPI_Info, int, MPI_Comm*);
    rc = entry.other<Adjacent>(Function::Dist_graph_create_adjacent)(
        comm, static_cast<int>(neighbours.sources.size()), neighbours.sources.data(),
        neighbours.weighted ? neighbours.source_weights.data() : unweighted(),
        static_cast<int>(neighbours.destinations.size()), neighbours.destinations.data(),
        neighbours.weighted ? neighbours.destination_weights.data() : unweighted(), info, 0, made);
  } else {
    rc = real(comm, n, sources, degrees, destinations, weights, info, reorder, made);
  }
  if (rc == MPI_SUCCESS) entry.new_communicator(*made, comm);
  if (entry.recording()) {
    // If the library has given the processes other ranks, the lists alone do not make the same communicator.
    int order = MPI_UNEQUAL;
    if (rc == MPI_SUCCESS)
      resolve_function<int (*)(MPI_Comm, MPI_Comm, int*)>(Function::Comm_compare)(comm, *made, &order);
    known = order == MPI_CONGRUENT && ask_neighbours(*made, neighbours);
    record_indices(std::span<const int>(known ? flattened(neighbours) : std::vector<int>()), !known);
  }
  entry.end();
  return rc;
}

}  // namespace reprise::mpi::bodies
