#include "cli/find_mpi.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>

#include "base/elf.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/libraries.hpp"

namespace reprise::cli {

namespace {

std::string real_path(const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  std::string result = real ? real : path;
  std::free(real);
  return result;
}

bool starts_with_shebang(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char start[2] = {};
  return fd && ::read(fd.get(), start, sizeof start) == 2 && start[0] == '#' && start[1] == '!';
}

// Directories in which the launcher will look for programs that are named relative to them.
std::vector<std::string> working_directories(const std::vector<std::string>& command) {
  std::vector<std::string> directories;
  for (std::size_t i = 0; i + 1 < command.size(); ++i)
    for (const std::string_view option : {"-wdir", "--wdir", "-wd", "--wd", "-D", "--chdir"})
      if (command[i] == option) directories.push_back(command[i + 1]);
  return directories;
}

std::string find_file(const std::string& word, const std::vector<std::string>& directories) {
  if (word.empty() || word[0] == '-' || word.find('\n') != std::string::npos) return "";
  std::string path = find_program(word);
  if (path.empty()) path = find_program("./" + word);  // launchers accept a bare name in the working directory
  if (path.empty() && word[0] != '/')
    for (const std::string& directory : directories)
      if (path = find_program(directory + '/' + word); !path.empty()) break;
  return path;
}

std::optional<LauncherKind> kind_by_name(std::string_view name) {
  for (const std::string_view known : {"orterun", "prterun", "prun", "mpirun.openmpi", "mpiexec.openmpi", "oshrun"})
    if (name == known) return LauncherKind::OpenMpi;
  for (const std::string_view known :
       {"mpiexec.hydra", "mpirun.mpich", "mpiexec.mpich", "mpirun.hydra", "mpiexec.gforker"})
    if (name == known) return LauncherKind::Hydra;
  if (name == "srun") return LauncherKind::Slurm;
  return std::nullopt;
}

}  // namespace

std::optional<LauncherKind> launcher_kind(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const std::string real = real_path(path);
  const std::string_view name = base_name(real);
  if (const auto kind = kind_by_name(name)) return kind;
  if (const auto kind = kind_by_name(base_name(path))) return kind;
  if (name != "mpirun" && name != "mpiexec") return std::nullopt;
  if (const auto elf = read_elf(real)) {
    for (const std::string& library : elf->needed) {
      if (library.starts_with("libopen-") || library.starts_with("libprrte") || mpi_of_library(library) == kOpenMpi)
        return LauncherKind::OpenMpi;
      if (mpi_of_library(library) == kMpich) return LauncherKind::Hydra;
    }
  }
  // A wrapper, or a static build: an MPI's commands are installed together.
  const std::string directory = real.substr(0, real.rfind('/') + 1);
  const bool open_mpi = is_regular_file(directory + "ompi_info") || is_regular_file(directory + "prterun");
  const bool hydra = is_regular_file(directory + "hydra_pmi_proxy") || is_regular_file(directory + "mpiexec.hydra");
  if (open_mpi != hydra) return open_mpi ? LauncherKind::OpenMpi : LauncherKind::Hydra;
  return std::nullopt;
}

bool is_followed_from_start(const FoundMpi& found) {
  return found.mpi == kNoMpi || (found.mpi == kMcapi && found.program_mpi == kMcapi);
}

FoundMpi find_mpi(const std::vector<std::string>& command) {
  FoundMpi found;
  const LibrarySearch libraries;
  const auto directories = working_directories(command);
  for (std::size_t i = 0; i < command.size(); ++i) {
    const std::string path = find_file(command[i], directories);
    if (path.empty()) continue;
    if (!found.launcher) {
      if (const auto kind = launcher_kind(path)) {
        found.launcher = i;
        found.launcher_kind = kind;
        if (kind != LauncherKind::Slurm) found.launcher_mpi = kind == LauncherKind::OpenMpi ? kOpenMpi : kMpich;
        found.program.reset();  // what stood before it (env, timeout, taskset) is not the program
        continue;
      }
    }
    const auto elf = read_elf(path);
    const bool script = !elf && starts_with_shebang(path);
    if (!elf && !script) continue;
    std::string_view mpi = elf ? libraries.find_mpi(path, *elf) : std::string_view();
    if (elf && mpi.empty() && elf_defines(path, "reprise_mcapi_functions")) mpi = kMcapi;  // reprise/mcapi.h
    const bool inside = elf && mpi.empty() && elf_defines(path, "MPI_Init");
    if (found.program && mpi.empty() && !inside) continue;
    found.program = i;
    found.program_path = path;
    found.program_mpi = mpi;
    found.program_is_script = script;
    found.program_is_static = elf && !elf->dynamic;
    found.mpi_inside = inside;
    if (!mpi.empty()) break;
  }
  found.mpi = found.program_mpi.empty() ? found.launcher_mpi : found.program_mpi;
  return found;
}

std::string trace_name(const std::vector<std::string>& command, const FoundMpi& found) {
  std::string name(base_name(found.program ? command[*found.program] : command.front()));
  // "python3" says less than the script that it runs.
  if (found.program && found.program_mpi.empty() && !found.mpi_inside && !found.program_is_script) {
    const auto script =
        std::find_if(command.begin() + static_cast<std::ptrdiff_t>(*found.program) + 1, command.end(),
                     [](const std::string& word) { return !word.starts_with('-') && is_regular_file(word); });
    if (script != command.end()) name = base_name(*script);
  }
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '_' && c != '+') c = c == '-' ? '-' : '_';
  name.resize(std::min<std::size_t>(name.size(), 100));
  return name.empty() || name[0] == '.' || name[0] == '-' ? "run" + name : name;
}

std::string why_nothing_seen(const std::vector<std::string>& command, const FoundMpi& found) {
  const std::string program = printable(found.program ? command[*found.program] : command.back());
  if (found.mpi_inside)
    return program + " has its MPI linked into it statically, where Reprise cannot reach it; link it with the shared " +
           "MPI library";
  if (found.program_is_static)
    return program + " is a static program, into which nothing can be loaded; link it dynamically";
  if (!found.program_mpi.empty() && !found.launcher_mpi.empty() && found.program_mpi != found.launcher_mpi)
    return program + " uses " + std::string(mpi_title(found.program_mpi)) + " but " +
           printable(command[*found.launcher]) + " belongs to " + std::string(mpi_title(found.launcher_mpi)) +
           "; use the launcher of the program's MPI";
  if (!found.program) return "the command names no program that could be found";
  if (found.program_mpi.empty() && !found.program_is_script)
    return program +
           " does not use an MPI library that Reprise knows (libmpi.so.40, libmpich.so.12, libmpi.so.12); if " +
           "it starts an MPI program, or loads MPI by dlopen, name the MPI with --mpi; if it has threads only, --mpi "
           "none";
  if (found.program_is_script)
    return program + " is a script; if what it runs uses another MPI than the launcher's, name it with --mpi";
  return program + " ended before MPI_Init, or LD_PRELOAD did not reach it (a privileged or container program, or " +
         "`srun --export`)";
}

}  // namespace reprise::cli
