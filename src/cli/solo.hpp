// reprise replay --rank: one rank of a recorded run, alone, from the values that reached it.
#pragma once

#include <cstdint>
#include <string>

#include "cli/gdb.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

struct SoloOptions {
  std::uint32_t rank = 0;
  bool yes = false;
  bool quiet = false;
  double stall_seconds = 0;
  DebuggerOptions debugger;
};

int solo_replay(const OpenTrace& trace, const SoloOptions& options);

}  // namespace reprise::cli
