// reprise replay: runs the recorded command again and forces every outcome, until the end of the recorded run.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "analyze/number_set.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/act_order.hpp"
#include "cli/choose_mpi.hpp"
#include "cli/commands.hpp"
#include "cli/explore_order.hpp"
#include "cli/job.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/monitor.hpp"
#include "cli/nodes.hpp"
#include "cli/options.hpp"
#include "cli/recorded_run.hpp"
#include "cli/solo.hpp"
#include "cli/speech.hpp"
#include "cli/temporary_directory.hpp"
#include "cli/trace_dir.hpp"
#include "cli/watch_replay.hpp"

namespace reprise::cli {
namespace {

struct Options {
  std::string directory;
  bool yes = false;
  bool quiet = false;
  bool ignore_sent = false;
  double stall_seconds = 0;
  std::optional<std::uint32_t> rank;  // alone
  std::string nodes;                  // of MCAPI, each from its values
  std::string mode;                   // of MCAPI: what the trace must be
  std::string arrivals;               // and where the order of arrivals is written
};

// An empty file, to which the nodes append.
std::string new_list(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) fail("cannot write the order of arrivals to {}: {}", printable(path), error_text(errno));
  return std::filesystem::canonical(path).string();
}

int replay(const OpenTrace& trace, const std::vector<std::string>& other_command, const Options& options, const DebuggerOptions& debugger = {}) {
  const std::vector<std::string>& command = other_command.empty() ? trace.manifest.command : other_command;
  if (command.empty()) fail("{}: the manifest names no command", printable(trace.path));
  check_architecture(trace);
  const Recorded recorded = read_recorded(trace, options.nodes.empty() ? std::vector<std::uint32_t>() : ranks_for_nodes(trace, options.nodes));
  refuse_what_cannot_be_replayed(trace);
  confirm(trace, command, trace.manifest.working_directory, options.yes);

  const std::string directory = other_command.empty() ? trace.manifest.working_directory : working_directory();
  const ChosenMpi mpi = choose_mpi(command, trace.manifest.mpi);
  if (!mpi.found.program_mpi.empty() && mpi.found.program_mpi != trace.manifest.mpi)
    fail("recorded with {}, but this command uses {}: a run is replayed with the MPI it was recorded with",
         mpi_title(trace.manifest.mpi), mpi_title(mpi.found.program_mpi));
  // Slurm may choose other nodes than those of the recorded run, and its ranks are no descendants of ours.
  const bool local = recorded.one_host && other_command.empty() && mpi.found.launcher_kind != LauncherKind::Slurm;
  constexpr double kForEver = 1e9;  // people think as long as they like
  Monitor monitor(recorded.logs, !local, patience_for(recorded, trace.manifest.complete, local, debugger.any() ? kForEver : options.stall_seconds));
  std::optional<TemporaryDirectory> arrivals;
  Variables settings{{"REPRISE_MODE", "replay"},
                     {"REPRISE_DIR", std::filesystem::canonical(trace.files).string()},
                     {"REPRISE_TRACE_ID", hex(trace.manifest.trace_id)},
                     {"REPRISE_MONITOR", monitor.address()},
                     {"REPRISE_PLACES", monitor.places()}};
  if (trace.manifest.explored) settings.emplace_back("REPRISE_EXPLORED", "1");
  if (is_followed_from_start(mpi.found)) settings.emplace_back("REPRISE_ALONE", "1");
  if (trace.manifest.mpi == kMcapi) {
    for (const auto& setting : settings_for_nodes(trace)) settings.push_back(setting);
    if (!options.nodes.empty()) settings.emplace_back("REPRISE_ONLY_NODES", options.nodes);
    if (has_arrivals(trace) && options.nodes.empty()) {
      arrivals.emplace();
      const UniqueFd directory(::open(arrivals->path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
      make_arrivals(directory.get());
      settings.emplace_back("REPRISE_ARRIVALS", arrivals->path() + "/" + kArrivals);
      if (!options.arrivals.empty()) settings.emplace_back("REPRISE_ARRIVALS_SEEN", new_list(options.arrivals));
    }
  }
  const Launch launch = prepare_launch(command, mpi.found, mpi.preload_library, settings);
  if (debugger.any()) {
    if (debugger.rr) check_rr();
    const Launch debugged = debugger.rr ? under_rr(launch, mpi.found.program_path) : in_debugger(launch, mpi.found.program_path, debugger);
    Job job = Job::start({debugged.command, debugged.environment, directory, {}});
    return watch_debugger(job, monitor, trace);
  }
  Job job = Job::start({launch.command, launch.environment, directory, {}});
  return watch_replay(job, monitor, trace, recorded, {options.quiet, !other_command.empty(), nodes_in_list(trace, options.nodes)});
}

}  // namespace

int replay_command(int argc, char** argv) {
  Options options;
  DebuggerOptions debugger;
  std::string together;
  OptionParser parser(
      "replay",
      "Runs a recorded command again; every outcome is forced to be the recorded one.\n"
      "The exit status is the program's own, as recorded; 75 if the replay diverged,\n"
      "128+N if you ended it with signal N (Ctrl-C: 130).",
      "[OPTIONS] [DIR] [-- COMMAND...]\n\n"
      "COMMAND replaces the recorded one (another launcher, other hosts); the program must be the same.\n"
      "With --rank it is the program itself, if that is elsewhere now.");
  parser.option("directory", options.directory, "The trace, or a bundle (default: ./reprise.d/latest)", "DIR");
  parser.flag("-y,--yes", options.yes, "Run the command of a trace that came from elsewhere without asking");
  parser.flag("-q,--quiet", options.quiet, "No closing summary");
  parser
      .option("--stall-timeout", options.stall_seconds, "Seconds without any movement until the replay is given up",
              "S")
      .positive();
  parser.option("--rank", options.rank,
                "Replay only this rank, alone, from its recorded values (see reprise record --data)", "R");
  parser.option("--ranks", together, "Replay these ranks, each from its recorded values, in causal order", "RANKS")
      .checked([](const std::string& text) {
        const auto ranks = analyze::NumberSet::parse(text == "all" ? "0-" : text);
        return ranks ? std::string() : ranks.error().what;
      });
  parser.option("--mode", options.mode, "MCAPI: refuse a trace that was recorded in another mode", "receiver|sender").one_of({"receiver", "sender"});
  parser.option("--arrivals", options.arrivals, "MCAPI, mode sender: write the order of arrivals to this file while they come", "FILE");
  parser.flag("--ignore-sent", options.ignore_sent,
              "With --rank: go on if the rank sends other bytes than in the recorded run");
  parser.flag("--gdb", debugger.gdb,
              "With --rank: in gdb, stopped before main; what follows is for gdb: --gdb -ex run -ex bt");
  parser.option("--gdb-server", debugger.server, "With --rank: in gdbserver, which listens there", "[HOST]:PORT");
  parser.flag("--rr", debugger.rr, "With --rank: record the rank with rr, for going backwards in rr replay");
  CommandLine line = split_command_line(argc, argv);
  if (const auto gdb = std::find(line.own.begin(), line.own.end(), "--gdb"); gdb != line.own.end()) {
    debugger.words.assign(gdb + 1, line.own.end());
    line.own.erase(gdb + 1, line.own.end());
  }
  if (const auto status = parser.parse(line.own)) return *status;
  const OpenTrace trace = open_trace(options.directory);
  if (options.rank && !together.empty()) fail("replay: either --rank or --ranks");
  check_mode(trace, options.arrivals.empty() ? options.mode : "sender");
  std::vector<std::uint32_t> alone;
  if (trace.manifest.mpi == kMcapi && (options.rank || !together.empty())) {
    options.nodes = options.rank ? std::to_string(*options.rank) : together;
    if (debugger.any()) check_debugged_node(trace, options.nodes);
    return replay(trace, line.command, options, debugger);
  }
  if (options.rank) alone = {*options.rank};
  else if (!together.empty()) alone = ranks_in_list(trace, together);
  else if (trace.manifest.explored && !debugger.any() && line.command.empty() && has_windows(trace))
    return act_order(trace);
  else if (trace.manifest.explored && !debugger.any() && line.command.empty())
    alone = ranks_in_list(trace, "all");  // it had no launcher either
  if (alone.size() != 1 && debugger.any())
    fail("replay: a debugger holds one process: say which with --rank R (recorded with --data R)");
  if (!debugger.server.empty() && debugger.server.find(':') == std::string::npos)
    debugger.server = ":" + debugger.server;  // a port alone
  if (!alone.empty())
    return solo_replay(
        trace, {alone, options.yes, options.quiet, options.ignore_sent, options.stall_seconds, debugger, line.command});
  return replay(trace, line.command, options);
}

}  // namespace reprise::cli
