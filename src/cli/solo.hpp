// reprise replay --rank, --ranks: one rank of a recorded run, alone, from the values that reached it; or several, each
// from its own values, in causal order (virtual/companions.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "cli/gdb.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

struct SoloOptions {
  std::vector<std::uint32_t> ranks;
  bool yes = false;
  bool quiet = false;
  bool ignore_sent = false;
  double stall_seconds = 0;
  DebuggerOptions debugger;
};

int solo_replay(const OpenTrace& trace, const SoloOptions& options);

}  // namespace reprise::cli
