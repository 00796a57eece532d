// Prepares a command so that the preload library and its settings reach every rank, on every node.
//
// Hydra and srun hand the environment on. Open MPI's mpirun does so only on its own node; elsewhere it needs to be told
// the names, either by mca_base_env_list or by -x, and it aborts when it is told both ways. So ours go the way that the
// user already goes. (Its -x counts for one program of "mpirun A : B" only, and so is given once for each.)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/find_mpi.hpp"

namespace reprise::cli {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct Launch {
  std::vector<std::string> command;
  std::vector<std::string> environment;  // "NAME=value"
};

// The preload library for "openmpi" or "mpich", found relative to the running command.
Result<std::string> find_preload_library(const std::string& mpi);
// What `reprise cc` links into programs, found in the same way.
Result<std::string> find_access_runtime();

// Both of them: this one, and the one that stands before malloc.
std::string with_heap_library(const std::string& preload_library);
// The same before it, with the library that tells what is moved.
std::string with_movements_library(const std::string& preload_library);
// What makes libraries copy where that library can see it.
Variables settings_for_visible_copies();

// `variables` are the REPRISE_* settings. The environment is this process's own, plus ours.
Launch prepare_launch(const std::vector<std::string>& command, const FoundMpi& found,
                      const std::string& preload_library, const Variables& variables);

// A rank's program without a launcher. `recorded` are the variables that its launcher had set, `room` is a directory that no
// other process has.
Launch prepare_solo_launch(const std::vector<std::string>& command, const std::string& mpi,
                           const std::string& preload_library, const Variables& variables, const Variables& recorded,
                           const std::string& room);

}  // namespace reprise::cli
