// Does the program look at memory that is being received into? Nobody sees that from outside. But until the operation is
// complete such memory may hold anything (MPI 4.0, 3.7.2): if it holds something else, and the program then does
// something else in the same order, it has looked.
#pragma once

#include <vector>

#include "cli/explore_findings.hpp"
#include "explore/run.hpp"

namespace reprise::cli {

// In the first order. The result is that order's, with what was found as its problems.
explore::RunResult find_early_reads(virtual_world::Stage* stage, explore::RunOptions options, const PlaceNamer& namer);

}  // namespace reprise::cli
