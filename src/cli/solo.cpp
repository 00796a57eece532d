#include "cli/solo.hpp"

#include <filesystem>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/recorded_run.hpp"
#include "cli/speech.hpp"
#include "cli/trace_notes.hpp"
#include "cli/watch_replay.hpp"
#include "engine/data_log.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {
namespace {

// One rank's program as it was started.
struct Program {
  std::string path;
  std::vector<std::string> arguments;  // the first is its name
  std::string directory;
  Variables variables;  // those by which a launcher tells a process its rank
};

Program recorded_program(const OpenTrace& trace, std::uint32_t rank) {
  const auto reader = value_or_fail(trace::RankReader::open(trace.fd.get(), rank, trace.manifest.trace_id));
  Program program;
  program.path = reader.info("exe");
  program.arguments = split(reader.info("cmdline"), '\n');
  program.directory = reader.info("directory");
  if (program.directory.empty()) program.directory = trace.manifest.working_directory;
  const auto count = parse_number(reader.info("arguments"));
  if (count && *count != program.arguments.size())
    fail("rank {} cannot be replayed alone: an argument of its program has more than one line", rank);
  constexpr std::string_view kVariable = "variable-";
  for (const auto& [key, value] : reader.info())
    if (key.starts_with(kVariable)) program.variables.emplace_back(key.substr(kVariable.size()), value);
  return program;
}

void refuse_what_cannot_run_alone(const OpenTrace& trace, std::uint32_t rank) {
  if (rank >= trace.manifest.ranks && trace.manifest.complete)
    fail("there is no rank {}: the recorded run had {}", rank, counted(trace.manifest.ranks, "rank"));
  if (!trace::has_data(trace.fd.get(), rank))
    fail("the values that reached rank {} were not recorded: record again with --data {} (or --data all)", rank, rank);
  if (const auto data = engine::DataReader::open(trace.fd.get(), {trace.manifest.trace_id, rank, 0}); !data)
    fail("{}/{}", printable(trace.path), data.error().what);
  for (const TraceNote& note : read_trace_notes(trace.fd.get(), trace.manifest))
    if (note.rank == rank && (note.key == "not-solo" || note.key == "no-data"))
      fail("rank {} cannot be replayed alone: {}", rank, printable(note.text));
}

}  // namespace

int solo_replay(const OpenTrace& trace, const SoloOptions& options) {
  check_architecture(trace);
  refuse_what_cannot_run_alone(trace, options.rank);
  const Recorded recorded = read_recorded(trace, options.rank);
  refuse_what_cannot_be_replayed(trace);
  const Program program = recorded_program(trace, options.rank);
  const std::vector<std::string>& command = program.arguments;
  if (command.empty() || program.path.empty()) fail("the log of rank {} names no program", options.rank);
  confirm(trace, command, program.directory, options.yes);
  const bool debugged = options.debugger.gdb || !options.debugger.server.empty();
  constexpr double kForEver = 1e9;  // people think as long as they like
  Monitor monitor(recorded.logs, false, patience_for(recorded, trace.manifest.complete, true,
                                                     debugged ? kForEver : options.stall_seconds));
  const std::string library = value_or_fail(find_preload_library(trace.manifest.mpi));
  const Launch launch = prepare_solo_launch(command, trace.manifest.mpi, library,
                                            {{"REPRISE_MODE", "replay"},
                                             {"REPRISE_DIR", std::filesystem::canonical(trace.path).string()},
                                             {"REPRISE_TRACE_ID", hex(trace.manifest.trace_id)},
                                             {"REPRISE_RANK", std::to_string(options.rank)},
                                             {"REPRISE_MONITOR", monitor.address()},
                                             {"REPRISE_PLACES", monitor.places()}},
                                            program.variables);
  if (debugged) {
    const Launch debugger = in_debugger(launch, program.path, options.debugger);
    Job job = Job::start(debugger.command, debugger.environment, program.directory);
    return watch_debugger(job, monitor, trace);
  }
  Job job = Job::start(launch.command, launch.environment, program.directory, program.path);
  return watch_replay(job, monitor, trace, recorded, {options.quiet, true});
}

}  // namespace reprise::cli
