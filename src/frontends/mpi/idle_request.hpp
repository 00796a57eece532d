// A communicator of this process alone, and what it serves for: above all a request that never completes, which a
// receive becomes in replay that matched nothing in the recorded run.
#pragma once

#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

// After MPI_Init: later may be too late, in a process that crashes.
void prepare_idle_requests();
// That communicator.
MPI_Comm own_communicator();
// A real receive on a private communicator like MPI_COMM_SELF, so the program can cancel, free or test it as usual.
int idle_request(MPI_Request* request);
// Does the status of a completed MPI_Isendrecv tell whom it heard? That of MPICH 4.0 is empty. Tried once, on that
// communicator.
bool combined_receive_tells_sender();
// Lets the library move messages, for a rank that waits for the others at the end of its log.
void make_progress();
// Before MPI_Finalize.
void end_idle_requests();

}  // namespace reprise::mpi
