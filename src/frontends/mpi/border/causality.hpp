// Solo replay of several ranks: the order between them (virtual/companions.hpp), in MPI's terms.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "frontends/mpi/library.hpp"
#include "virtual/companions.hpp"
#include "virtual/provider.hpp"

namespace reprise::mpi {

// Those that are replayed beside this rank; null if it is alone.
virtual_world::Companions* companions();
// Solo replay begins.
void join_companions();

// Whose data a collective brings to this rank.
enum class Sources {
  Nobody,
  Everybody,   // each member; of an intercommunicator, of the remote group
  Root,        // the root alone
  LowerRanks,  // MPI_Scan
  Neighbours,
  Some,  // those that a list names
};

// Members of the communicator, as world ranks. `some`: for Some, their ranks in it; for Neighbours, which of them.
std::vector<int> members_behind(MPI_Comm comm, Sources sources, int root, const std::vector<int>& some);

// None if the communicator or its member is not known.
std::optional<virtual_world::Channel> channel_from(MPI_Comm comm, int source, int tag);
std::optional<virtual_world::Channel> channel_to(MPI_Comm comm, int dest, int tag);

}  // namespace reprise::mpi
