// What the MPI library moves while operations are under way: copies, transfers, packing (`check --flows`; FlowChecker,
// section III-B). libreprise-movements.so tells; what touches the buffers of operations or carries their bytes on is logged.
#pragma once

#include <span>

#include "frontends/mpi/flow/log.hpp"

namespace reprise::mpi::flow {

// After MPI_Init: if that library is loaded, what it tells is logged from now on.
void follow_movements();
bool follows_movements();

// The memory of an operation that has begun, until it is complete.
void begins_to_move(std::uint64_t post, std::span<const Block> gives, std::span<const Block> takes);
void is_moved(std::uint64_t post);

}  // namespace reprise::mpi::flow
