// The functions of all front ends in one table: the log knows a function by its number there.
#pragma once

#include "engine/sites.hpp"
#include "frontends/sys/functions.hpp"
#include "function_ids.hpp"  // generated

namespace reprise::frontends {

const engine::FunctionTable& all_functions();

// MPI's come first, then those of the system.
inline constexpr engine::FunctionId id_of(mpi::Function function) { return static_cast<engine::FunctionId>(function); }
inline constexpr engine::FunctionId id_of(sys::Function function) {
  return static_cast<engine::FunctionId>(static_cast<unsigned>(mpi::Function::kCount) +
                                         static_cast<unsigned>(function));
}

}  // namespace reprise::frontends
