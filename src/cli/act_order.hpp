// An explored order, acted once more on the stage: for programs whose ranks cannot be replayed one by one, since they
// look into each other's windows.
#pragma once

#include "cli/trace_dir.hpp"

namespace reprise::cli {

// What the ranks write is shown, one after the other. The exit status of a replay.
int act_order(const OpenTrace& trace);

}  // namespace reprise::cli
