#include "cli/choose_mpi.hpp"

#include <algorithm>
#include <array>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

namespace {

// A script that calls the launcher itself says nothing; most likely it calls the one that is first on the PATH.
std::string default_mpi() {
  for (const char* name : {"mpirun", "mpiexec"}) {
    const auto kind = launcher_kind(find_program(name));
    if (kind == LauncherKind::OpenMpi) return std::string(kOpenMpi);
    if (kind == LauncherKind::Hydra) return std::string(kMpich);
  }
  return "";
}

// Those that run other programs, or load MPI late: what they will use cannot be told from their files.
bool runs_others(std::string_view path) {
  static constexpr std::array<std::string_view, 32> kRunners = {
      "sh",    "bash", "dash", "zsh",  "ksh",   "csh",     "tcsh", "fish", "busybox", "python",  "perl",
      "ruby",  "lua",  "R",    "java", "julia", "octave",  "node", "env",  "time",    "timeout", "nice",
      "nohup", "make", "ssh",  "sudo", "xargs", "taskset", "gdb",  "rr",   "strace",  "numactl"};
  std::string_view name = path.substr(path.rfind('/') + 1);
  name = name.substr(0, name.find_last_not_of("0123456789.-") + 1);  // python3.11
  return std::find(kRunners.begin(), kRunners.end(), name) != kRunners.end();
}

// A word after the first one: the first may be a launcher that we do not know. A word like "kill" is hardly meant so.
bool names_program(const std::string& word) {
  return (word.find('/') != std::string::npos || runs_others(word)) && !find_program(word).empty();
}

// The command is one program, and that uses no MPI.
bool uses_no_mpi(const std::vector<std::string>& command, const FoundMpi& found) {
  return !found.launcher && found.program == 0u && !found.program_is_script && !found.program_is_static &&
         found.program_mpi.empty() && !found.mpi_inside && !runs_others(found.program_path) &&
         std::none_of(command.begin() + 1, command.end(), names_program);
}

}  // namespace

ChosenMpi choose_mpi(const std::vector<std::string>& command, const std::string& wanted) {
  ChosenMpi chosen;
  chosen.found = find_mpi(command);
  FoundMpi& found = chosen.found;
  if (found.mpi_inside && wanted.empty()) throw UserError(why_nothing_seen(command, found));
  if (wanted == kNoMpi && found.launcher)
    fail("--mpi none is for programs without MPI, but {} starts the ranks of one", printable(command[*found.launcher]));
  if (!wanted.empty()) found.mpi = wanted;
  if (found.mpi.empty()) found.mpi = uses_no_mpi(command, found) ? std::string(kNoMpi) : default_mpi();
  if (found.mpi.empty()) fail("cannot tell which MPI this command uses; name it with --mpi openmpi, mpich or none");
  if (!found.program_mpi.empty() && !found.launcher_mpi.empty() && found.program_mpi != found.launcher_mpi)
    say("note: {} uses {} but {} belongs to {}: its processes will not find each other",
        printable(command[*found.program]), mpi_title(found.program_mpi), printable(command[*found.launcher]),
        mpi_title(found.launcher_mpi));
  chosen.preload_library = value_or_fail(find_preload_library(found.mpi));
  return chosen;
}

}  // namespace reprise::cli
