// MPI_Isendrecv from any source where the library does not tell whom it heard (MPICH 4.0: the status is empty).
//
// The receive and the send are posted one by one, so that the receive has a status of its own. The program gets one
// request for both: a generalised request that the library asks for progress (MPIX_Grequest_start, which such an MPICH
// has). While recording, the receive is watched like any other.
#pragma once

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

// `receive` and `send` are active. `keep` is freed when both have completed.
int combine(MPI_Request receive, MPI_Request send, void* keep, MPI_Request* request);

// MPI_Request_get_status does not ask a generalised request for progress: this does, for all of them.
void poke_combined();

}  // namespace reprise::mpi
