// Ranks that outlive their launcher. A log is sealed only when nobody writes to it any more.
//
// Descendants of this process are waited for and, if the launcher did not end well, ended. Other ranks are somebody
// else's to end: those that srun started belong to Slurm, and those of other nodes to the launcher's helpers there.
// They notice soon that the launcher is gone; until then we wait.
#pragma once

#include <cstdint>
#include <vector>

#include "cli/job.hpp"

namespace reprise::cli {

// Returns the ranks that still write after all patience.
std::vector<std::uint32_t> collect_leftovers(Job& job, int launcher_status, int dir_fd, std::uint64_t trace_id);

// Closes the logs of all ranks but the living.
void seal_ranks(int dir_fd, std::uint64_t trace_id, const std::vector<std::uint32_t>& living);

}  // namespace reprise::cli
