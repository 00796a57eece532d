// Where this rank stands in a collective operation, for the functions at the border.
#pragma once

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

int rank_in(MPI_Comm comm);
int blocks_in(MPI_Comm comm);      // members that send to this rank: of an intercommunicator, the remote ones
int neighbours_in(MPI_Comm comm);  // that send to this rank
bool is_root(MPI_Comm comm, int root);
// Not the root, and not one of its group that only watches (MPI_PROC_NULL).
bool is_served_by(MPI_Comm comm, int root);
// Every process that gets something, the root of an intracommunicator included.
bool takes_part(MPI_Comm comm, int root);

}  // namespace reprise::mpi
