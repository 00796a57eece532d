// The functions of all front ends in one table: the log knows a function by its number there.
#pragma once

#include <iterator>

#include "engine/sites.hpp"
#include "frontends/sys/functions.hpp"
#include "frontends/threads/functions.hpp"
#include "function_ids.hpp"  // generated

namespace reprise::frontends {

const engine::FunctionTable& all_functions();

// MPI's come first, then those of the system, then those of threads.
inline constexpr engine::FunctionId id_of(mpi::Function function) { return static_cast<engine::FunctionId>(function); }
inline constexpr engine::FunctionId id_of(sys::Function function) {
  return static_cast<engine::FunctionId>(static_cast<unsigned>(mpi::Function::kCount) +
                                         static_cast<unsigned>(function));
}

inline constexpr engine::FunctionId id_of(threads::Function function) {
  return static_cast<engine::FunctionId>(static_cast<unsigned>(mpi::Function::kCount) + std::size(sys::kFunctionNames) +
                                         static_cast<unsigned>(function));
}

}  // namespace reprise::frontends
