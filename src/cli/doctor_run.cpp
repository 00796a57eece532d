// doctor with a command: runs it once, with nothing recorded, and looks which ranks the preload library was in.
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/choose_mpi.hpp"
#include "cli/doctor_checks.hpp"
#include "cli/job.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "trace/format.hpp"

namespace reprise::cli {

namespace {

using Level = CheckResult::Level;
using namespace std::chrono_literals;

constexpr std::size_t kMaxSeenFile = 1u << 16;

using Facts = std::map<std::string, std::string>;  // "calls" -> "12", from the file seen-<rank>

struct Seen {
  std::map<std::uint32_t, Facts> ranks;
  std::uint64_t passed_by = 0;  // processes that used MPI without a call that was seen
};

constexpr std::uint64_t kInitAndFinalize = 2;  // calls without which no rank is seen at all
constexpr const char* kPassedBy =
    "MPI functions that are looked up in a library handle (ctypes, MPI.jl) pass Reprise by; link the program with its "
    "MPI, or in Python use mpi4py";

Seen take_seen_files(int dir_fd) {
  Seen seen;
  DIR* const directory = ::fdopendir(::openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return seen;
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) names.emplace_back(entry->d_name);
  ::closedir(directory);
  for (const std::string& name : names) {
    if (name.starts_with("passed-")) seen.passed_by += ::unlinkat(dir_fd, name.c_str(), 0) == 0;
    if (!name.starts_with("seen-")) continue;
    const auto rank = parse_number(std::string_view(name).substr(5));
    const auto text = read_file_at(dir_fd, name, kMaxSeenFile, false);
    ::unlinkat(dir_fd, name.c_str(), 0);
    if (!rank || *rank >= trace::kMaxRanks || !text) continue;
    Facts& facts = seen.ranks[static_cast<std::uint32_t>(*rank)];
    for (const std::string& line : split(*text, '\n'))
      if (const std::size_t at = line.find('='); at != std::string::npos)
        facts[line.substr(0, at)] = line.substr(at + 1);
  }
  return seen;
}

std::uint64_t number_in(const Facts& facts, const std::string& key) {
  const auto found = facts.find(key);
  return found == facts.end() ? 0 : parse_number(found->second).value_or(0);
}

// The program's stdout becomes our stderr, for doctor's own findings (perhaps JSON) go to stdout.
int run_job(const Launch& launch) {
  std::fflush(stdout);
  const UniqueFd own_stdout(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto restore = [&] { ::dup2(own_stdout.get(), STDOUT_FILENO); };
  try {
    Job job = Job::start({launch.command, launch.environment, {}, {}});
    restore();
    const int status = job.wait();
    if (!job.await_descendants(status == 0 ? 0s : 5s) && status != 0) job.terminate();
    return status;
  } catch (...) {
    restore();
    throw;
  }
}

void judge_ranks(const Seen& files, const std::vector<std::string>& command, const FoundMpi& found, int status,
                 CheckResults& findings) {
  const std::map<std::uint32_t, Facts>& seen = files.ranks;
  if (files.passed_by > 0)
    findings.push_back(
        {Level::Problem, "calls",
         fmt::format("{} used MPI, but not one of its calls could be seen",
                     files.passed_by == 1 ? "a process" : fmt::format("each of {} processes", files.passed_by)),
         kPassedBy});
  if (seen.empty()) {
    if (files.passed_by > 0) return;
    if (found.mpi == kNoMpi && status == 0) {
      findings.push_back({Level::Note, "ranks",
                          "no MPI was seen: its threads, clocks and random sources can be recorded",
                          why_nothing_seen(command, found)});
      return;
    }
    const std::string reason = status != 0 && !found.program_is_static
                                   ? "it ended (" + status_words(status) + ") before MPI_Finalize"
                                   : why_nothing_seen(command, found);
    findings.push_back({Level::Problem, "ranks", "no rank was seen", reason});
    return;
  }
  std::uint64_t world = 0;
  std::vector<std::uint32_t> silent;
  for (const auto& [rank, facts] : seen) {
    world = std::max(world, number_in(facts, "ranks"));
    const std::uint64_t calls = number_in(facts, "calls");
    const bool too_few = calls <= kInitAndFinalize;
    if (too_few) silent.push_back(rank);
    const auto text = [&facts = facts](const char* key) {
      const auto at = facts.find(key);
      return at == facts.end() ? std::string("?") : printable(at->second);
    };
    findings.push_back(
        {too_few ? Level::Problem : Level::Good, fmt::format("rank {}", rank),
         fmt::format("{} seen; {}, pid {} on {}", counted(calls, "MPI call"), text("exe"), text("pid"), text("host")),
         ""});
  }
  std::vector<std::uint32_t> missing;
  for (std::uint32_t rank = 0; rank < std::min<std::uint64_t>(world, trace::kMaxRanks); ++rank)
    if (!seen.contains(rank)) missing.push_back(rank);
  if (!silent.empty())
    findings.push_back({Level::Problem, "calls",
                        "nothing but MPI_Init and MPI_Finalize was seen of rank " + number_ranges(silent), kPassedBy});
  if (!missing.empty())
    findings.push_back(
        {Level::Problem, "ranks", fmt::format("rank {} of {} was not seen", number_ranges(missing), world),
         status != 0 ? "the run ended by " + status_words(status) + "; these ranks did not reach MPI_Finalize"
                     : "another program of the command may be static or use another MPI, or the directory "
                       "is not shared between the nodes"});
  if (missing.empty() && silent.empty())
    findings.push_back({Level::Good, "ranks", fmt::format("all {} seen", world), ""});
  const auto& library = seen.begin()->second;
  if (const auto at = library.find("mpi-library"); at != library.end())
    findings.push_back({Level::Good, "MPI", printable(at->second), ""});
}

}  // namespace

CheckResults check_command(const std::vector<std::string>& command, const std::string& wanted_mpi) {
  CheckResults findings;
  const ChosenMpi mpi = choose_mpi(command, wanted_mpi);
  findings.push_back({Level::Good, "command",
                      fmt::format("uses {}{}", mpi_title(mpi.found.mpi),
                                  mpi.found.program_path.empty() ? "" : " (" + printable(mpi.found.program_path) + ")"),
                      ""});
  const NewTrace directory = make_trace_directory("", fmt::format("doctor.{}", ::getpid()));
  int status = 0;
  try {
    status = run_job(prepare_launch(command, mpi.found, mpi.preload_library,
                                    {{"REPRISE_MODE", "doctor"}, {"REPRISE_DIR", directory.absolute}}));
  } catch (...) {
    discard(directory);
    throw;
  }
  const auto seen = take_seen_files(directory.fd.get());
  discard(directory);
  if (status != 0) findings.push_back({Level::Note, "command", "ended by " + status_words(status), ""});
  judge_ranks(seen, command, mpi.found, status, findings);
  return findings;
}

}  // namespace reprise::cli
