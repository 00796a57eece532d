#include "cli/doctor_checks.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/capture.hpp"
#include "cli/find_mpi.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "cli/version.hpp"
#include "trace/format.hpp"

namespace reprise::cli {

namespace {

using Level = CheckResult::Level;
using namespace std::chrono_literals;

// The first line that holds a version number: Open MPI prints it in the first line, Hydra in a later one.
std::string version_of(const std::string& launcher) {
  const auto text = capture({launcher, "--version"}, {}, 10s);
  if (!text) return "version unknown";
  for (const std::string& line : split(*text, '\n')) {
    const std::size_t digit = line.find_first_of("0123456789");
    if (digit == std::string::npos) continue;
    return printable(line.substr(digit, line.find_first_of(" \t", digit) - digit));
  }
  return "version unknown";
}

bool installed(std::string_view mpi) {
  const LibrarySearch libraries;
  ElfFile self;
  if (const auto elf = read_elf("/proc/self/exe")) self.machine = elf->machine;
  for (const char* soname : {"libmpi.so.40", "libmpich.so.12", "libmpi.so.12"})
    if (mpi_of_library(soname) == mpi && !libraries.resolve(soname, "/proc/self/exe", self, {}).empty()) return true;
  return false;
}

void check_launchers(CheckResults& findings) {
  bool any = false;
  for (const char* name : {"mpirun", "mpiexec", "mpirun.openmpi", "mpirun.mpich", "srun"}) {
    const std::string path = find_program(name);
    const auto kind = launcher_kind(path);
    if (!kind) continue;
    any = true;
    const std::string title = *kind == LauncherKind::Slurm     ? "Slurm"
                              : *kind == LauncherKind::OpenMpi ? std::string(mpi_title(kOpenMpi))
                                                               : std::string(mpi_title(kMpich));
    CheckResult finding{Level::Good, name, fmt::format("{} {} ({})", title, version_of(path), path), ""};
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0 && (info.st_mode & (S_ISUID | S_ISGID))) {
      finding.level = Level::Problem;
      finding.text += " runs with other privileges, so LD_PRELOAD is ignored";
      finding.advice = "use a launcher without the setuid or setgid bit";
    }
    findings.push_back(std::move(finding));
  }
  if (!any) findings.push_back({Level::Note, "launchers", "no mpirun, mpiexec or srun on the PATH", ""});
}

// Open MPI 4's osc/rdma crashes in MPI_Compare_and_swap and, with OpenSHMEM, in shmem_finalize (docs/library-bugs.md).
void check_one_sided(CheckResults& findings) {
  const std::string path = find_program("mpirun.openmpi").empty() ? find_program("mpirun") : find_program("mpirun.openmpi");
  const auto kind = launcher_kind(path);
  if (!kind || *kind != LauncherKind::OpenMpi || !version_of(path).starts_with("4.")) return;
  const char* const chosen = std::getenv("OMPI_MCA_osc");
  if (chosen && (std::string_view(chosen).starts_with('^')) == (std::string_view(chosen).find("rdma") != std::string_view::npos)) return;
  findings.push_back({Level::Note, "one-sided", "Open MPI 4's osc/rdma crashes in MPI_Compare_and_swap and in shmem_finalize",
                      "for programs with windows or OpenSHMEM: export OMPI_MCA_osc=^rdma, or reprise record --no-osc-rdma"});
}

// A preloaded library shows in the maps of whatever program is started with it.
bool preload_works(const std::string& library) {
  const auto maps = capture({"cat", "/proc/self/maps"}, {{"LD_PRELOAD", library}}, 10s);
  return maps && maps->find(library) != std::string::npos;
}

void check_preload_libraries(CheckResults& findings) {
  bool any = false;
  for (const std::string_view mpi : {kOpenMpi, kMpich}) {
    const std::string title(mpi_title(mpi));
    const bool present = installed(mpi);
    const auto library = find_preload_library(std::string(mpi));
    if (!library) {
      findings.push_back({Level::Note, title,
                          present ? "installed, but this Reprise cannot record it" : "not supported here",
                          present ? library.error().what : ""});
      continue;
    }
    any = true;
    if (preload_works(*library)) {
      const char* remark = present ? "" : " (its library is not in the usual places)";
      findings.push_back({Level::Good, title, fmt::format("{}{}", printable(*library), remark), ""});
    } else {
      findings.push_back({Level::Problem, title, printable(*library) + " cannot be preloaded",
                          "try: LD_PRELOAD=" + shell_words({*library}) + " /bin/true"});
    }
  }
  if (!any)
    findings.push_back({Level::Problem, "preload", "no preload library was found beside the command",
                        "build Reprise where an MPI is installed, and keep bin/ and lib/ together"});
}

// Does what recording does: reserve a file, map it, write through the map.
std::string try_mapped_file(int dir_fd) {
  const UniqueFd file(::openat(dir_fd, "probe", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file) return "cannot create a file: " + error_text(errno);
  if (const int error = ::posix_fallocate(file.get(), 0, trace::kChunkCapacity))
    return "cannot reserve space: " + error_text(error);
  void* map = ::mmap(nullptr, trace::kChunkCapacity, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (map == MAP_FAILED) return "cannot map a file: " + error_text(errno);
  std::memcpy(map, "reprise", 8);
  ::munmap(map, trace::kChunkCapacity);
  char back[8] = {};
  if (::pread(file.get(), back, sizeof back, 0) != sizeof back || std::memcmp(back, "reprise", 8) != 0)
    return "what is written through a map does not arrive in the file";
  return "";
}

void check_trace_files(CheckResults& findings) {
  try {
    const NewTrace probe = make_trace_directory("", fmt::format("doctor.{}", ::getpid()));
    const std::string trouble = try_mapped_file(probe.fd.get());
    struct statvfs space {};
    ::fstatvfs(probe.fd.get(), &space);
    ::unlinkat(probe.fd.get(), "probe", 0);
    discard(probe);
    if (!trouble.empty()) {
      findings.push_back({Level::Note, "trace files", trouble + "; ordinary writes will be used, which is slower",
                          "record to a local file system with -o DIR"});
      return;
    }
    const std::uint64_t room = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
    findings.push_back({Level::Good, "trace files",
                        fmt::format("./{} can be written and mapped, {} free", kTraceHome, human_bytes(room)), ""});
  } catch (const UserError& error) {
    findings.push_back({Level::Problem, "trace files", error.what(), "record from another directory or with -o DIR"});
  }
}

// Replays watch their ranks over TCP; on one machine that is the loopback interface.
void check_loopback(CheckResults& findings) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const UniqueFd server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool works = server && client && ::bind(server.get(), generic, sizeof address) == 0 &&
                     ::listen(server.get(), 1) == 0 && ::getsockname(server.get(), generic, &size) == 0 &&
                     ::connect(client.get(), generic, size) == 0;
  if (works) findings.push_back({Level::Good, "loopback", "TCP connections to 127.0.0.1 work", ""});
  else
    findings.push_back({Level::Problem, "loopback", "no TCP connection to 127.0.0.1: " + error_text(errno),
                        "replay needs it; bring up the interface lo"});
}

}  // namespace

CheckResults check_installation() {
  CheckResults findings;
  findings.push_back(
      {Level::Good, "reprise", fmt::format("{} in {}", kVersion, printable(executable_directory())), ""});
  check_preload_libraries(findings);
  check_launchers(findings);
  check_one_sided(findings);
  check_trace_files(findings);
  check_loopback(findings);
  return findings;
}

}  // namespace reprise::cli
