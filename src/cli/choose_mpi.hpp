// From a command to the preload library that fits it, with the sentences a user needs when none does.
#pragma once

#include <string>
#include <vector>

#include "cli/find_mpi.hpp"

namespace reprise::cli {

struct ChosenMpi {
  FoundMpi found;  // found.mpi is set
  std::string preload_library;
};

// `wanted` overrides what the files say ("openmpi", "mpich", "none" or empty). Throws UserError. Says so when the
// launcher belongs to another MPI than the program, which runs but is hardly ever meant.
ChosenMpi choose_mpi(const std::vector<std::string>& command, const std::string& wanted);

}  // namespace reprise::cli
