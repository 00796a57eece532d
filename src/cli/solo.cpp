#include "cli/solo.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "analyze/number_set.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/recorded_run.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"
#include "cli/trace_notes.hpp"
#include "cli/watch_replay.hpp"
#include "engine/data_log.hpp"
#include "trace/rank_reader.hpp"
#include "virtual/companions.hpp"

namespace reprise::cli {
namespace {

// One rank's program as it was started.
struct Program {
  std::string path;
  std::vector<std::string> arguments;  // the first is its name
  std::string directory;
  std::string fidelity;
  Variables variables;  // those by which a launcher tells a process its rank
};

Program recorded_program(const OpenTrace& trace, std::uint32_t rank) {
  const auto reader = value_or_fail(trace::RankReader::open(trace.fd.get(), rank, trace.manifest.trace_id));
  Program program;
  program.path = reader.info("exe");
  program.arguments = split(reader.info("cmdline"), '\n');
  program.directory = reader.info("directory");
  program.fidelity = reader.info("fidelity");
  if (program.directory.empty()) program.directory = trace.manifest.working_directory;
  const auto count = parse_number(reader.info("arguments"));
  if (count && *count != program.arguments.size())
    fail("rank {} cannot be replayed alone: an argument of its program has more than one line", rank);
  constexpr std::string_view kVariable = "variable-";
  for (const auto& [key, value] : reader.info())
    if (key.starts_with(kVariable)) program.variables.emplace_back(key.substr(kVariable.size()), value);
  return program;
}

// Where the ranks count for each other: a file without a name.
class Counters {
 public:
  Counters() : file_(::memfd_create("reprise-companions", MFD_CLOEXEC)) {
    constexpr auto kSize = virtual_world::kSharedCounters * sizeof(virtual_world::SharedCounter);
    if (!file_ || ::ftruncate(file_.get(), kSize) != 0)
      fail("cannot make a file in memory for the order of ranks: {}", error_text(errno));
  }
  std::string path() const { return fmt::format("/proc/{}/fd/{}", ::getpid(), file_.get()); }

 private:
  UniqueFd file_;
};

}  // namespace

void refuse_what_cannot_run_alone(const OpenTrace& trace, std::uint32_t rank) {
  if (rank >= trace.manifest.ranks && trace.manifest.complete)
    fail("there is no rank {}: the recorded run had {}", rank, counted(trace.manifest.ranks, "rank"));
  if (!trace::has_log(trace.fd.get(), rank, trace::kDataStream))
    fail("the values that reached rank {} were not recorded: record again with --data {} (or --data all)", rank, rank);
  auto data = engine::DataReader::open(trace.fd.get(), {trace.manifest.trace_id, rank, trace::kDataStream});
  if (!data) fail("{}/{}", printable(trace.path), data.error().what);
  if (const auto first = data->next(); !first) fail("{}/{}", printable(trace.path), first.error().what);
  for (const TraceNote& note : read_trace_notes(trace.fd.get(), trace.manifest)) {
    if (note.rank == rank && note.key == "no-data") fail("rank {} cannot be replayed alone: {}", rank, printable(note.text));
    if (note.rank == rank && note.key == "not-solo") fail("rank {} cannot be replayed alone: {}", rank, not_solo_text(note));
  }
}

std::vector<std::uint32_t> ranks_in_list(const OpenTrace& trace, const std::string& list) {
  std::vector<std::uint32_t> ranks;
  const auto wanted = value_or_fail(analyze::NumberSet::parse(list == "all" ? "0-" : list));
  for (const auto& [first, named_last] : wanted.ranges()) {
    const std::uint64_t last = named_last == UINT64_MAX ? trace.manifest.ranks - 1 : named_last;
    if (first > last || last >= trace.manifest.ranks)
      fail("there is no rank {}: the recorded run had {}", std::max(first, last),
           counted(trace.manifest.ranks, "rank"));
    for (std::uint64_t i = first; i <= last; ++i) ranks.push_back(static_cast<std::uint32_t>(i));
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

int solo_replay(const OpenTrace& trace, const SoloOptions& options) {
  check_architecture(trace);
  for (const std::uint32_t rank : options.ranks) refuse_what_cannot_run_alone(trace, rank);
  const std::string elsewhere = options.program.empty() ? "" : find_program(options.program[0]);
  if (!options.program.empty() && elsewhere.empty())
    throw UserError(fmt::format("cannot find the program {}", printable(options.program[0])), kNotFound);
  const Recorded recorded = read_recorded(trace, options.ranks, elsewhere);
  refuse_what_cannot_be_replayed(trace);
  const bool debugged = options.debugger.any();
  if (options.debugger.rr) check_rr();
  constexpr double kForEver = 1e9;  // people think as long as they like
  Monitor monitor(recorded.logs, false,
                  patience_for(recorded, trace.manifest.complete, true, debugged ? kForEver : options.stall_seconds));
  const std::string library = value_or_fail(find_preload_library(trace.manifest.mpi));
  const Counters counters;
  std::vector<Process> processes;
  std::vector<TemporaryDirectory> rooms;
  std::set<std::vector<std::string>> confirmed;
  for (const std::uint32_t rank : options.ranks) {
    Program program = recorded_program(trace, rank);
    if (!options.program.empty()) {
      program.path = std::filesystem::absolute(elsewhere);
      program.directory = working_directory();
      if (options.program.size() > 1) program.arguments = options.program;
      else if (!program.arguments.empty()) program.arguments[0] = options.program[0];
    }
    const std::vector<std::string>& command = program.arguments;
    if (command.empty() || program.path.empty()) fail("the log of rank {} names no program", rank);
    if (confirmed.insert(command).second) confirm(trace, command, program.directory, options.yes);
    Variables variables{{"REPRISE_MODE", "replay"},
                        {"REPRISE_DIR", std::filesystem::canonical(trace.files).string()},
                        {"REPRISE_TRACE_ID", hex(trace.manifest.trace_id)},
                        {"REPRISE_RANK", std::to_string(rank)},
                        {"REPRISE_IGNORE_SENT", options.ignore_sent || debugged ? "1" : "0"},
                        {"REPRISE_MONITOR", monitor.address()},
                        {"REPRISE_PLACES", monitor.places()}};
    if (!program.fidelity.empty()) variables.emplace_back("REPRISE_FIDELITY", program.fidelity);
    if (trace.manifest.explored) variables.emplace_back("REPRISE_EXPLORED", "1");
    if (debugged && !options.debugger.rr) variables.emplace_back("REPRISE_STOP_AT_END", "1");
    if (options.ranks.size() > 1) {
      variables.emplace_back("REPRISE_COMPANIONS", counters.path());
      variables.emplace_back("REPRISE_TOGETHER", fmt::format("{}", fmt::join(options.ranks, ",")));
    }
    rooms.emplace_back();
    Launch launch =
        prepare_solo_launch(command, trace.manifest.mpi, library, variables, program.variables, rooms.back().path());
    if (debugged) {
      const Launch debugger =
          options.debugger.rr ? under_rr(launch, program.path) : in_debugger(launch, program.path, options.debugger);
      Job job = Job::start({debugger.command, debugger.environment, program.directory, {}});
      const int status = watch_debugger(job, monitor, trace);
      if (options.debugger.rr) say("next: rr replay (reverse-continue, reverse-step, ... go backwards)");
      return status;
    }
    processes.push_back({std::move(launch.command), std::move(launch.environment), program.directory, program.path});
  }
  Job job = Job::start_all(processes);
  return watch_replay(job, monitor, trace, recorded, {options.quiet, true});
}

}  // namespace reprise::cli
