#include "cli/gdb.hpp"

#include <unistd.h>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/capture.hpp"
#include "cli/find_mpi.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"

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

// The environment of a debugger: it reads our settings, but is not to load our library.
Launch without_preload(const Launch& launch) {
  Launch debugger;
  for (const std::string& variable : launch.environment)
    if (!variable.starts_with("LD_PRELOAD=")) debugger.environment.push_back(variable);
  return debugger;
}

}  // namespace

Launch in_debugger(const Launch& launch, const std::string& file, const DebuggerOptions& options) {
  Launch debugger = without_preload(launch);
  std::vector<std::string> wrapper{"env"};
  for (const std::string& variable : launch.environment)
    if (is_for_program(variable)) wrapper.push_back(variable);
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

void check_rr() {
  if (find_program("rr").empty()) throw UserError("rr is not installed (Debian: apt-get install rr)", kNotFound);
  const TemporaryDirectory directory;
  using namespace std::chrono_literals;
  const auto said =
      capture({"/bin/sh", "-c", "rr record -o \"$0\" /bin/true 2>&1 && echo works; true", directory.path() + "/trace"},
              {}, 30s);
  std::string why = "it does not say why";
  for (const std::string& line : split(said.value_or(""), '\n'))
    if (!line.empty()) why = line;
  if (why == "works") return;
  fail("rr does not work on this machine ({}); --gdb does: run begins again there, with the same values",
       printable(why));
}

Launch under_rr(const Launch& launch, const std::string& file) {
  Launch debugger = without_preload(launch);
  debugger.command = {"rr", "record"};
  for (const std::string& variable : launch.environment)
    if (is_for_program(variable)) debugger.command.insert(debugger.command.end(), {"-v", variable});
  debugger.command.push_back(file);
  debugger.command.insert(debugger.command.end(), launch.command.begin() + 1, launch.command.end());
  return debugger;
}

}  // namespace reprise::cli
