// Open MPI's mpirun hands the environment on to its own node only, unless it is told the names (cli/launch.hpp). Where
// the command is a script, nobody but mpirun itself can be told, and that is done here: the library is loaded into it
// before it looks at its settings.
//
// With an -x on its command line it would abort if it were told this way too. Ranks of other nodes are not seen then,
// and the record command says so.
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#include "engine/session.hpp"

namespace {

constexpr const char* kList = "OMPI_MCA_mca_base_env_list";

bool is_mpirun() {
  char exe[4096];
  const ssize_t size = readlink("/proc/self/exe", exe, sizeof exe - 1);
  if (size <= 0) return false;
  exe[size] = '\0';
  const char* name = std::strrchr(exe, '/');
  return name && std::strcmp(name, "/orterun") == 0;
}

bool told_by_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    for (const char* option : {"-x", "--x", "-app", "--app", "mca_base_env_list"})
      if (std::strcmp(argv[i], option) == 0) return true;
  return false;
}

__attribute__((constructor)) void tell_mpirun(int argc, char** argv, char**) {
  if (reprise::engine::Session::get().configuration().mode == reprise::engine::Mode::Passive || !is_mpirun()) return;
  const char* given = std::getenv(kList);
  std::string list = given ? given : "";
  if (list.find("LD_PRELOAD") != std::string::npos) return;  // the record command has seen to it
  if (list.empty() && told_by_options(argc, argv)) return;
  if (!list.empty() && list.back() != ';') list += ';';
  list += "LD_PRELOAD";
  for (char** entry = environ; *entry; ++entry)
    if (std::strncmp(*entry, "REPRISE_", 8) == 0) list += ';' + std::string(*entry, std::strcspn(*entry, "="));
  setenv(kList, list.c_str(), 1);
}

}  // namespace
