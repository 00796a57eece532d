// The virtual world's communicators and groups by MPI's handles (virtual/world.hpp), for the functions at the border.
#pragma once

#include <optional>
#include <utility>

#include "frontends/mpi/border/border.hpp"
#include "frontends/mpi/border/operation.hpp"
#include "virtual/world.hpp"

namespace reprise::mpi {

virtual_world::World& world();
// A communicator that the world does not know is one of the library's own, with one member.
virtual_world::Communicator* known(MPI_Comm comm);
// The members; of MPI_GROUP_EMPTY none.
const virtual_world::Group& members(MPI_Group group);
// A new handle for a group.
int give_group(virtual_world::Group group, MPI_Group* out);

// What an MPI_Comm_X function that makes a communicator gives this rank: the provider says who is in it. `carrier`:
// how the real one that carries it is made from the one that carries its parent.
enum class Carrier { Alike, Duplicate };
int give_communicator(MPI_Comm parent, Carrier carrier, virtual_world::Topology topology, MPI_Comm* out);

// What the world answers stands at the border in a solo replay; in an explored rank, which may be recorded like any
// other, in place of the library.
inline bool g_world_is_the_library = false;
template <class Ours>
void put_in_world(Function function, Ours ours) {
  if (g_world_is_the_library) return put_in_place_of_library(function, ours);
  put_at_border(function, Flavor::Mpi, ours);
  put_at_border(function, Flavor::Pmpi, ours);
}

int mpi_likeness(virtual_world::Likeness likeness, bool communicators);

}  // namespace reprise::mpi
