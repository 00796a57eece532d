// Reductions with operations of the program's own: what comes of them only the program's function can say. So one member
// hears samples of what the others contribute, calls the function itself, in several of the orders that MPI allows, and
// logs what comes of it; the results of all are compared with that after the run.
//
// The contributions are sent when a rank enters its reduction, and waited for when the reduction is complete in the
// member that looks: the root, or the last rank, whose result needs all of them anyway.
#pragma once

#include "frontends/mpi/flow/log.hpp"

namespace reprise::mpi::flow {

// In MPI_Init, by all ranks.
void open_letterbox();

// One reduction, as one of its members sees it.
class OwnReduction {
 public:
  void is(MPI_Op op) { op_ = op; }
  // Each member gets what those up to its own rank make (MPI_Scan).
  void has_prefixes() { prefixes_ = true; }

  // Before the library is called: tells the one that looks. `samples`: without holes; empty if there is nothing to be said.
  void contribute(const Shape& shape, std::span<const std::uint8_t> samples, MPI_Datatype type);
  // When the library says that it is complete. What comes of it (trace/intention_log.hpp, EXPECTED); empty in all other members.
  std::vector<std::uint8_t> expected(const Shape& shape) const;

 private:
  MPI_Op op_{};
  MPI_Datatype type_{};
  bool prefixes_ = false;
  std::uint64_t number_ = 0;  // among those of its communicator
};

// MPI_Op_free and MPI_Type_free: what a reduction may still be looked at with stays until MPI_Finalize, though not for the
// program.
bool keeps_operation(MPI_Op* op);
bool keeps_type(MPI_Datatype* type);
void close_letterbox();

}  // namespace reprise::mpi::flow
