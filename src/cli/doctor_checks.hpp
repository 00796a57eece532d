// What `reprise doctor` looks at: this installation, this machine and, if one is given, a command.
#pragma once

#include <string>
#include <vector>

namespace reprise::cli {

struct CheckResult {
  enum class Level { Good, Note, Problem };
  Level level = Level::Good;
  std::string topic;   // one word or two: "Open MPI", "trace files"
  std::string text;    // what was found
  std::string advice;  // what to do about it; empty if nothing needs doing
};
using CheckResults = std::vector<CheckResult>;

// The installation and the machine.
CheckResults check_installation();
// Runs the command and looks which ranks are seen.
CheckResults check_command(const std::vector<std::string>& command, const std::string& wanted_mpi);

}  // namespace reprise::cli
