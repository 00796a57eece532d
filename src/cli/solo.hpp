// reprise replay --rank, --ranks: one rank of a recorded run, alone, from the values that reached it; or several, each
// from its own values, in causal order (virtual/companions.hpp).
#pragma once

#include <cstdint>
#include <string>
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
  std::vector<std::string> program;  // instead of the recorded one: where it is now, and its arguments
};

// "3,17-19", "all". Throws UserError if the run had no such rank.
std::vector<std::uint32_t> ranks_in_list(const OpenTrace& trace, const std::string& list);
// Throws UserError.
void refuse_what_cannot_run_alone(const OpenTrace& trace, std::uint32_t rank);

int solo_replay(const OpenTrace& trace, const SoloOptions& options);

}  // namespace reprise::cli
