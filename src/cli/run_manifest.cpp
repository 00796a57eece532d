#include "cli/run_manifest.hpp"

#include <sys/random.h>
#include <unistd.h>

#include <chrono>
#include <ctime>

#include "base/process.hpp"
#include "cli/registry.hpp"
#include "cli/version.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {

namespace {

std::uint64_t random_id() {
  std::uint64_t id = 0;
  if (::getrandom(&id, sizeof id, 0) != sizeof id)
    id = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) ^
         static_cast<std::uint64_t>(::getpid()) << 48;
  return id;
}

}  // namespace

trace::Manifest describe_run(const std::vector<std::string>& command, const std::string& mpi) {
  trace::Manifest manifest;
  manifest.trace_id = random_id();
  manifest.reprise_version = kVersion;
  manifest.command = command;
  manifest.working_directory = working_directory();
  manifest.mpi = mpi;
  manifest.host = host_name();
  manifest.architecture = machine_architecture();
  manifest.user = ::getuid();
  manifest.started = ::time(nullptr);
  return manifest;
}

void remember(const trace::Manifest& manifest) {
  if (!is_own(manifest)) register_trace(manifest);
}

std::string mpi_library_of(int dir_fd, std::uint64_t trace_id, std::uint32_t rank) {
  const auto reader = trace::RankReader::open(dir_fd, rank, trace_id);
  return reader ? std::string(reader->info("mpi-library")) : "";
}

}  // namespace reprise::cli
