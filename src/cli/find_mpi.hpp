// Which MPI a command will use, and which of its words are the launcher and the program.
//
// Launchers have hundreds of options, so no word is skipped because of what stands before it: every word that names an
// executable file is looked at, and what the file is decides. A program's MPI outweighs the launcher's, because it is
// the program that calls it; for scripts, which say nothing, the launcher decides.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::cli {

enum class LauncherKind { OpenMpi, Hydra, Slurm };

struct FoundMpi {
  std::string mpi;                      // "openmpi", "mpich"; empty if nothing tells
  std::optional<std::size_t> launcher;  // index in the command
  std::optional<LauncherKind> launcher_kind;
  std::string launcher_mpi;            // empty if unknown (srun)
  std::optional<std::size_t> program;  // index in the command
  std::string program_path;            // the file that it names
  std::string program_mpi;             // what the program's own libraries say; empty for scripts
  bool program_is_script = false;      // no ELF file: its libraries cannot be seen from outside
  bool program_is_static = false;      // LD_PRELOAD cannot reach it
  bool mpi_inside = false;             // it carries MPI_Init in itself
};

// Is the program a rank from its start on? Of MCAPI, one that can have nodes: a script only starts them.
bool is_followed_from_start(const FoundMpi& found);

FoundMpi find_mpi(const std::vector<std::string>& command);

// What the file is, whatever name led to it. Nullopt if it is no launcher that we know.
std::optional<LauncherKind> launcher_kind(const std::string& path);

// A short name for a trace of this command.
std::string trace_name(const std::vector<std::string>& command, const FoundMpi& found);

// Why no rank may have been seen, as one sentence; what a user can do is part of it.
std::string why_nothing_seen(const std::vector<std::string>& command, const FoundMpi& found);

}  // namespace reprise::cli
