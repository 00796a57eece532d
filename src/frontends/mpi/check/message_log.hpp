// What a rank of a recorded run sends, receives and does together with others, with the types of the data, for `lint`,
// which compares both sides when the run is over (trace/message_log.hpp).
#pragma once

#include "frontends/mpi/check/report.hpp"

namespace reprise::mpi::check {

// Of one direction of a call: so many elements. Significant or not.
struct Described {
  MPI_Count count = 0;
  MPI_Datatype type{};
  bool matters = false;
};

// The call in flight is about to do this. `facts` are those of the communicator. Nothing is written for
// MPI_PROC_NULL, nor on intercommunicators.
void log_send(MPI_Comm comm, const CommunicatorFacts& facts, int dest, int tag, const Described& what);
void log_receive(MPI_Comm comm, const CommunicatorFacts& facts, int source, int tag, const Described& what);
// Of a matched probe that has found something: which type it has is not known yet. `asked_once`: not a poll.
void log_matched(MPI_Comm comm, int source, int tag, bool asked_once);
void log_collective(MPI_Comm comm, const CommunicatorFacts& facts, int root, const MPI_Op* op, const Described& gives,
                    const Described& takes);
void log_cancel();

// A persistent send or receive is written down when it is started.
void remember_prepared(std::uint64_t request, bool sends, MPI_Comm comm, const CommunicatorFacts& facts, int peer, int tag,
                       const Described& what);
// It is freed: the next request may have its handle.
void forget_prepared(std::uint64_t request);
void log_start(MPI_Count n, const MPI_Request* requests);

}  // namespace reprise::mpi::check
