// A rank that is replayed alone, in gdb.
#pragma once

#include <string>
#include <vector>

#include "cli/launch.hpp"

namespace reprise::cli {

struct DebuggerOptions {
  bool gdb = false;
  std::vector<std::string> words;  // what the user wants gdb to be told: -ex run -ex bt
  std::string server;              // HOST:PORT for gdbserver; empty: none
};

// The command that starts the debugger in place of the program. The preload library and its settings are for the
// program only: `launch` has them in its environment, and they are moved from there to the debugger's words.
Launch in_debugger(const Launch& launch, const std::string& file, const DebuggerOptions& options);

}  // namespace reprise::cli
