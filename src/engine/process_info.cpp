#include "engine/process_info.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/loaded_modules.hpp"

namespace reprise::engine {
namespace {

std::string read_small_file(const char* path) {
  std::string content;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return content;
  char buffer[4096];
  for (ssize_t size; (size = read(fd, buffer, sizeof buffer)) > 0 && content.size() < trace::kMaxText;)
    content.append(buffer, static_cast<std::size_t>(size));
  close(fd);
  return content;
}

std::string file_hash(const char* path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  struct stat info {};
  void* content = MAP_FAILED;
  if (fstat(fd, &info) == 0 && info.st_size > 0)
    content = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (content == MAP_FAILED) return {};
  char text[17];
  std::snprintf(text, sizeof text, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(content, static_cast<std::size_t>(info.st_size))));
  munmap(content, static_cast<std::size_t>(info.st_size));
  return text;
}

}  // namespace

namespace {

std::string g_start_directory;

// By which launchers tell a process where it stands. Only these: a trace must not carry variables that could load or run
// something. PMIx's own are left out, since a process that is alone would look for the server that they name.
constexpr const char* kLauncherVariables[] = {
    "OMPI_COMM_WORLD_RANK",      "OMPI_COMM_WORLD_SIZE",      "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_NODE_RANK", "OMPI_UNIVERSE_SIZE",
    "PMI_RANK",                  "PMI_SIZE",                  "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS",           "SLURM_PROCID",              "SLURM_LOCALID",
    "SLURM_NTASKS",              "SLURM_NODEID"};

}  // namespace

std::uint64_t machine_identity() {
  const std::string boot = read_small_file("/proc/sys/kernel/random/boot_id");
  return XXH3_64bits(boot.data(), boot.size());
}

void remember_start_directory() {
  char path[PATH_MAX];
  if (getcwd(path, sizeof path)) g_start_directory = path;
}

trace::Info describe_process() {
  trace::Info info;
  char exe[PATH_MAX] = "";
  if (readlink("/proc/self/exe", exe, sizeof exe - 1) < 0) exe[0] = '\0';
  LoadedModule module;
  if (!find_module_like(exe, "", module)) module = {};
  std::string cmdline = read_small_file("/proc/self/cmdline");
  if (!cmdline.empty() && cmdline.back() == '\0') cmdline.pop_back();
  std::size_t arguments = 1;
  for (char& c : cmdline) {
    if (c != '\0') continue;
    c = '\n';
    ++arguments;
  }
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  info.emplace_back("exe", exe);
  info.emplace_back("build-id", module.build_id);
  info.emplace_back("exe-hash", module.build_id[0] == '\0' ? file_hash(exe) : std::string());
  info.emplace_back("arguments", std::to_string(arguments));
  info.emplace_back("cmdline", std::move(cmdline));
  info.emplace_back("directory", g_start_directory);
  for (const char* name : kLauncherVariables)
    if (const char* value = std::getenv(name)) info.emplace_back(std::string("variable-") + name, value);
  info.emplace_back("pid", std::to_string(getpid()));
  info.emplace_back("host", host);
  return info;
}

}  // namespace reprise::engine
