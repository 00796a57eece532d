// A rank that is replayed alone, in gdb, or recorded by rr for going backwards.
#pragma once

#include <string>
#include <vector>

#include "cli/launch.hpp"

namespace reprise::cli {

struct DebuggerOptions {
  bool gdb = false;
  std::vector<std::string> words;  // what the user wants gdb to be told: -ex run -ex bt
  std::string server;              // HOST:PORT for gdbserver; empty: none
  bool rr = false;

  bool any() const { return gdb || rr || !server.empty(); }
};

// The command that starts the debugger in place of the program. The preload library and its settings are for the
// program only: `launch` has them in its environment, and they are moved from there to the debugger's words.
Launch in_debugger(const Launch& launch, const std::string& file, const DebuggerOptions& options);

// The same with rr, which records the rank; `rr replay` then goes forwards and backwards in it as often as one likes.
// Throws UserError where rr is not installed, or says that it does not work.
void check_rr();
Launch under_rr(const Launch& launch, const std::string& file);

}  // namespace reprise::cli
