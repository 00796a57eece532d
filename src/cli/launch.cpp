#include "cli/launch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

namespace {

// Where libraries go below the installation's prefix: lib, lib64 or lib/<multiarch>.
#ifndef REPRISE_LIBDIR
#define REPRISE_LIBDIR "lib"
#endif

constexpr std::string_view kEnvList = "mca_base_env_list";
constexpr std::string_view kEnvListVariable = "OMPI_MCA_mca_base_env_list";
constexpr std::string_view kPreload = "LD_PRELOAD";

class Environment {
 public:
  Environment() {
    for (char** entry = environ; *entry; ++entry) {
      // Settings of an outer reprise are not meant for this run.
      if (!std::string_view(*entry).starts_with("REPRISE_") || std::string_view(*entry).starts_with("REPRISE_PLAIN="))
        entries_.emplace_back(*entry);
    }
  }

  std::string get(std::string_view name) const {
    for (const std::string& entry : entries_)
      if (is(entry, name)) return entry.substr(name.size() + 1);
    return "";
  }
  void set(std::string_view name, std::string_view value) {
    std::erase_if(entries_, [&](const std::string& entry) { return is(entry, name); });
    entries_.push_back(std::string(name) + '=' + std::string(value));
  }
  void remove_all(std::string_view prefix) {
    std::erase_if(entries_, [&](const std::string& entry) { return entry.starts_with(prefix); });
  }
  std::vector<std::string> take() { return std::move(entries_); }

 private:
  static bool is(std::string_view entry, std::string_view name) {
    return entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=';
  }
  std::vector<std::string> entries_;
};

std::string with_preload(const std::string& library, const std::string& others) {
  return others.empty() ? library : library + ':' + others;
}

// A user's own LD_PRELOAD given to the launcher would replace ours: put ours in front of it.
void join_given_preloads(std::vector<std::string>& command, std::size_t launcher, const std::string& library) {
  for (std::size_t i = launcher + 1; i < command.size(); ++i) {
    std::string& word = command[i];
    const std::string& before = command[i - 1];
    const bool by_x = before == "-x" || before == "--x";
    if (by_x && word.starts_with("LD_PRELOAD=")) word = "LD_PRELOAD=" + with_preload(library, word.substr(11));
    const bool by_env = before == "-env" || before == "--env" || before == "-genv" || before == "--genv";
    if (by_env && word == kPreload && i + 1 < command.size()) command[i + 1] = with_preload(library, command[i + 1]);
  }
}

bool app_file_has_x(const std::vector<std::string>& command) {
  for (std::size_t i = 0; i + 1 < command.size(); ++i) {
    if (command[i] != "--app" && command[i] != "-app") continue;
    const auto text = read_file_at(AT_FDCWD, command[i + 1], 1u << 20, true);
    if (text && text->find("-x ") != std::string::npos) return true;
  }
  return false;
}

std::string extended_list(const std::string& list, const std::vector<std::string>& names) {
  std::string out = list;
  for (const std::string& name : names) {
    if (!out.empty() && out.back() != ';') out += ';';
    out += name;
  }
  return out;
}

void add_x_options(std::vector<std::string>& command, std::size_t launcher, const std::vector<std::string>& names) {
  std::vector<std::string> options;
  for (const std::string& name : names) options.insert(options.end(), {"-x", name});
  std::vector<std::string> out(command.begin(), command.begin() + static_cast<std::ptrdiff_t>(launcher) + 1);
  out.insert(out.end(), options.begin(), options.end());
  for (std::size_t i = launcher + 1; i < command.size(); ++i) {
    out.push_back(command[i]);
    if (command[i] == ":" && i + 1 < command.size()) out.insert(out.end(), options.begin(), options.end());
  }
  command = std::move(out);
}

void tell_open_mpi(std::vector<std::string>& command, std::size_t launcher, Environment& environment,
                   const std::vector<std::string>& names) {
  // The user's own list comes first: with it, an -x on the command line can only be the program's.
  for (std::size_t i = launcher + 1; i + 1 < command.size(); ++i) {
    if (command[i] != kEnvList) continue;
    command[i + 1] = extended_list(command[i + 1], names);
    return;
  }
  const std::string list = environment.get(kEnvListVariable);
  const auto is_x = [](const std::string& word) { return word == "-x" || word == "--x"; };
  const bool has_x = std::any_of(command.begin() + static_cast<std::ptrdiff_t>(launcher), command.end(), is_x);
  if (list.empty() && has_x) return add_x_options(command, launcher, names);
  // An application file with -x leaves no way; on this node the environment is inherited anyway.
  if (list.empty() && app_file_has_x(command)) return;
  environment.set(kEnvListVariable, extended_list(list, names));
}

}  // namespace

namespace {

// Nearest first.
std::vector<std::string> library_places(const std::string& name) {
  const std::string directory = executable_directory();
  const std::string multiarch = machine_architecture() + "-linux-gnu";
  return {directory + "/../" REPRISE_LIBDIR "/reprise/" + name,
          directory + "/../lib/reprise/" + name,
          directory + "/../lib/" + multiarch + "/reprise/" + name,
          directory + "/../lib64/reprise/" + name,
          directory + '/' + name,
          directory + "/../" + name};
}

}  // namespace

Result<std::string> find_access_runtime() {
  const auto places = library_places("libreprise-access.a");
  const auto found = std::find_if(places.begin(), places.end(), is_regular_file);
  if (found == places.end()) return Error{"there is no libreprise-access.a in " + places.front().substr(0, places.front().rfind('/'))};
  return *found;
}

// Any of them follows threads, and MPI only if the program calls it.
Result<std::string> find_preload_library(const std::string& mpi) {
  if (mpi == kNoMpi) {
    auto first = find_preload_library(std::string(kOpenMpi));
    return first ? first : find_preload_library(std::string(kMpich));
  }
  const auto places = library_places("libreprise-" + mpi + ".so");
  for (const std::string& place : places) {
    if (!is_regular_file(place)) continue;
    char* real = ::realpath(place.c_str(), nullptr);
    std::string path = real ? real : place;
    std::free(real);
    // The loader splits LD_PRELOAD at both.
    if (path.find_first_of(" :") != std::string::npos)
      return Error{"Reprise is installed below a directory with a space or colon in its name (" + path +
                   "), which LD_PRELOAD cannot express; install it elsewhere"};
    return path;
  }
  return Error{"this Reprise was built without support for " + std::string(mpi_title(mpi)) +
               " (there is no libreprise-" + mpi + ".so in " +
               std::string(places.front().substr(0, places.front().rfind('/'))) +
               "); build it where that MPI is installed"};
}

std::string with_heap_library(const std::string& preload_library) {
  const std::string heap = preload_library.substr(0, preload_library.rfind('/') + 1) + "libreprise-heap.so";
  return is_regular_file(heap) ? with_preload(preload_library, heap) : preload_library;
}

std::string with_movements_library(const std::string& preload_library) {
  const std::string first = preload_library.substr(0, preload_library.find(':'));
  const std::string movements = first.substr(0, first.rfind('/') + 1) + "libreprise-movements.so";
  if (!is_regular_file(movements)) fail("there is no {}, which --flows needs; install Reprise again", movements);
  return with_preload(movements, preload_library);
}

// On x86_64, UCX copies what is not small and not large by an instruction in its own code, and elsewhere it does not know the name.
Variables settings_for_visible_copies() {
  constexpr const char* kSmallestOwnCopy = "UCX_BUILTIN_MEMCPY_MIN";
  if (machine_architecture() != "x86_64" || ::getenv(kSmallestOwnCopy)) return {};
  return {{kSmallestOwnCopy, "inf"}};
}

Launch prepare_launch(const std::vector<std::string>& command, const FoundMpi& found,
                      const std::string& preload_library, const Variables& variables) {
  Environment environment;
  std::vector<std::string> names = {std::string(kPreload)};
  environment.set(kPreload, with_preload(preload_library, environment.get(kPreload)));
  for (const auto& [name, value] : variables) {
    environment.set(name, value);
    names.push_back(name);
  }
  if (!environment.get("REPRISE_PLAIN").empty()) names.emplace_back("REPRISE_PLAIN");
  Launch launch;
  launch.command = command;
  if (found.launcher) {
    join_given_preloads(launch.command, *found.launcher, preload_library);
    if (found.launcher_kind == LauncherKind::OpenMpi)
      tell_open_mpi(launch.command, *found.launcher, environment, names);
  }
  launch.environment = environment.take();
  return launch;
}

// If this command itself runs below a launcher, what that says about ranks and daemons is not meant for the program.
Launch prepare_solo_launch(const std::vector<std::string>& command, const std::string& mpi,
                           const std::string& preload_library, const Variables& variables, const Variables& recorded,
                           const std::string& room) {
  Environment environment;
  for (const char* prefix : {"PMI_", "PMIX_", "OMPI_COMM_WORLD_", "OMPI_MCA_orte_", "OMPI_MCA_ess_", "HYDRA_", "HYDI_"})
    environment.remove_all(prefix);
  for (const auto& [name, value] : recorded) environment.set(name, value);
  if (mpi == "openmpi") {
    environment.set("OMPI_MCA_ess_singleton_isolated", "1");  // no daemon beside a singleton
    // All singletons would have the same directory: one removes it when it ends while another makes its own in it.
    environment.set("OMPI_MCA_orte_tmpdir_base", room);
    environment.set("OMPI_MCA_osc", "^rdma,ucx");  // these make no windows for one process
  }
  environment.set(kPreload, with_preload(preload_library, environment.get(kPreload)));
  for (const auto& [name, value] : variables) environment.set(name, value);
  return {command, environment.take()};
}

}  // namespace reprise::cli
