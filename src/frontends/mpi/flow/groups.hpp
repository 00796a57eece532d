// The communicators that calls are made on, as `check` needs them: who is in them, and who is whose neighbour.
#pragma once

#include "frontends/mpi/library.hpp"
#include "virtual/topology.hpp"

namespace reprise::mpi::flow {

struct Group {
  std::uint32_t number = 0;  // in the log
  std::uint64_t uid = 0;
  int me = 0;
  std::vector<int> local;   // world ranks
  std::vector<int> remote;  // of an intercommunicator
  virtual_world::Topology topology;

  bool inter() const { return !remote.empty(); }
  // Those that blocks come from and go to.
  int peers() const { return static_cast<int>(inter() ? remote.size() : local.size()); }
  std::uint64_t most_pieces() const;
};

// Null: it is none that was seen made (or has been freed).
const Group* group_of(MPI_Comm comm);
void number_groups_with(std::uint32_t (*number)(const Group& group));

}  // namespace reprise::mpi::flow
