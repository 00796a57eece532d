#include "cli/gdb.hpp"

#include <unistd.h>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/find_mpi.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {
namespace {

bool is_for_program(const std::string& variable) {
  return variable.starts_with("LD_PRELOAD=") || variable.starts_with("REPRISE_");
}

// The extension with the commands "reprise where" and "reprise until".
std::string extension() {
  const std::string path = executable_directory() + "/../share/reprise/reprise_gdb.py";
  return ::access(path.c_str(), R_OK) == 0 ? path : std::string();
}

}  // namespace

Launch in_debugger(const Launch& launch, const std::string& file, const DebuggerOptions& options) {
  Launch debugger;
  std::vector<std::string> wrapper{"env"};
  for (const std::string& variable : launch.environment) {
    if (is_for_program(variable)) wrapper.push_back(variable);
    if (!variable.starts_with("LD_PRELOAD=")) debugger.environment.push_back(variable);  // the extension reads ours
  }
  debugger.environment.push_back("REPRISE_COMMAND=" + executable_directory() + "/reprise");
  std::vector<std::string>& command = debugger.command;
  if (!options.server.empty()) {
    command = {"gdbserver", "--wrapper"};
    command.insert(command.end(), wrapper.begin(), wrapper.end());
    command.insert(command.end(), {"--", options.server, file});
  } else {
    command = {"gdb", "-q", "-ex", "set exec-wrapper " + shell_words(wrapper), "-ex", "set breakpoint pending on"};
    if (const std::string path = extension(); !path.empty()) command.insert(command.end(), {"-x", path});
    if (options.words.empty()) command.insert(command.end(), {"-ex", "tbreak main", "-ex", "run"});
    else command.insert(command.end(), options.words.begin(), options.words.end());
    command.insert(command.end(), {"--args", file});
  }
  command.insert(command.end(), launch.command.begin() + 1, launch.command.end());
  return debugger;
}

}  // namespace reprise::cli
