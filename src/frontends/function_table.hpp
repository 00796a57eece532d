// The functions of all front ends in one table: the log knows a function by its number there.
#pragma once

#include <iterator>

#include "engine/sites.hpp"
#include "frontends/sys/functions.hpp"
#include "frontends/threads/functions.hpp"

namespace reprise::frontends {

const engine::FunctionTable& all_functions();

// MPI's come first, then those of OpenSHMEM, of the system, and of threads. How many MPI and OpenSHMEM have is known to
// function_table.cpp only, so that the other front ends are the same for every MPI.
extern const engine::FunctionId kFirstOfShmem;
extern const engine::FunctionId kFirstOfSystem;
inline engine::FunctionId id_of(sys::Function function) {
  return static_cast<engine::FunctionId>(kFirstOfSystem + static_cast<unsigned>(function));
}
inline engine::FunctionId id_of(threads::Function function) {
  return static_cast<engine::FunctionId>(kFirstOfSystem + std::size(sys::kFunctionNames) +
                                         static_cast<unsigned>(function));
}

}  // namespace reprise::frontends
