// reprise replay: runs the recorded command again and forces every outcome, until the end of the recorded run.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <set>

#include "analyze/run_end.hpp"
#include "analyze/source_lines.hpp"
#include "base/elf.hpp"
#include "base/text.hpp"
#include "cli/choose_mpi.hpp"
#include "cli/commands.hpp"
#include "cli/job.hpp"
#include "cli/launch.hpp"
#include "cli/libraries.hpp"
#include "cli/monitor.hpp"
#include "cli/options.hpp"
#include "cli/registry.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "cli/trace_notes.hpp"
#include "report/divergence.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct Options {
  std::string directory;
  bool yes = false;
  bool quiet = false;
  double stall_seconds = 0;
};

// Facts about the recorded run that the replay needs before it starts.
struct Recorded {
  analyze::RunEnd end;
  std::vector<Monitor::Log> logs;
  bool one_host = true;  // all ranks ran on this machine
  double seconds = 0;    // how long the run took
};

// Is the file at this path still what was recorded?
Result<void> same_program(const std::string& path, std::string_view build_id, std::string_view hash) {
  if (!build_id.empty()) {
    const auto elf = read_elf(path);
    if (!elf) return elf.error();
    if (elf->build_id != build_id)
      return Error{fmt::format("{} has build-id {}, recorded was {}", path, elf->build_id, build_id)};
  } else if (!hash.empty()) {
    const auto now = file_hash(path);
    if (!now) return now.error();
    if (*now != hash) return Error{fmt::format("{} has changed since", path)};
  }
  return {};
}

// How long the run took. If the record command did not live to write that down, the logs were last written at its end.
double recorded_seconds(const OpenTrace& trace) {
  if (trace.manifest.complete) return trace.manifest.seconds;
  double longest = 0;
  for (const std::uint32_t rank : trace.ranks) {
    struct stat info {};
    if (::fstatat(trace.fd.get(), fmt::format("rank-{}.log", rank).c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0)
      longest = std::max(longest, static_cast<double>(info.st_mtime - trace.manifest.started));
  }
  return longest;
}

Recorded read_recorded(const OpenTrace& trace) {
  Recorded recorded;
  const std::uint32_t ranks =
      std::max<std::uint32_t>(trace.manifest.ranks, trace.ranks.empty() ? 0 : trace.ranks.back() + 1);
  const std::uint32_t expected = trace.manifest.complete ? trace.manifest.logs : ranks;
  if (trace.ranks.size() != expected || ranks == 0)
    fail("{} cannot be replayed: it holds {} of {}", printable(trace.path), trace.ranks.size(),
         counted(expected, "log"));
  recorded.logs.resize(ranks);  // a rank without a log was ended before it made a call
  std::set<std::string> checked;
  for (const std::uint32_t rank : trace.ranks) {
    const auto reader = trace::RankReader::open(trace.fd.get(), rank, trace.manifest.trace_id);
    if (!reader) fail("{}/{}", printable(trace.path), reader.error().what);
    recorded.logs[rank] = {reader->total_events(), reader->end().kind == trace::EndKind::Stopped,
                           trace.manifest.complete && trace.manifest.exit_status == 0};
    recorded.one_host &= reader->info("host") == host_name();
    const std::string exe(reader->info("exe"));
    if (!checked.insert(exe).second) continue;
    if (const auto same = same_program(exe, reader->info("build-id"), reader->info("exe-hash")); !same)
      fail("the program is not the recorded one: {}; rebuild that version, or record again",
           printable(same.error().what));
  }
  recorded.end = analyze::read_run_end(trace.fd.get(), trace.manifest, trace.ranks);
  recorded.seconds = recorded_seconds(trace);
  return recorded;
}

void refuse_what_cannot_be_replayed(const OpenTrace& trace) {
  std::set<std::string> unsupported;
  for (const TraceNote& note : read_trace_notes(trace.fd.get(), trace.manifest)) {
    if (note.key == "not-replayable")
      fail("this run cannot be replayed: {} (rank {})", printable(note.text), note.rank);
    if (note.key == "unsupported") unsupported.insert(note.text);
  }
  for (const std::string& text : unsupported)
    say("warning: the outcome of this call cannot be forced yet: {}", printable(text));
}

// A trace names a command. One's own is run without a question.
void confirm(const OpenTrace& trace, const std::vector<std::string>& command, bool yes) {
  if (yes || is_own(trace.manifest)) return;
  say("{} was not recorded by you on this machine. Replaying it runs this command in {}:", printable(trace.path),
      printable(trace.manifest.working_directory));
  say("  {}", printable(shell_words(command)));
  fmt::print(stderr, "Run it? [y/N] ");
  std::string answer;
  std::getline(std::cin, answer);
  if (::isatty(STDIN_FILENO) == 0) fmt::print(stderr, "\n");
  if (answer != "y" && answer != "Y" && answer != "yes") fail("not replayed; add --yes if you trust it");
}

milliseconds seconds(double value) { return milliseconds(static_cast<std::int64_t>(value * 1000)); }

// How long the replay may stand still before it is given up. In the recorded run nothing took longer than the whole
// run. Replayed, the same needs as much of the job's own time (cli/job_clock.hpp), or somewhat more where the machine
// is slower. That time is not known of processes on other machines, nor how long those take to start.
Patience patience_for(const Recorded& recorded, bool known_run, bool local, double wanted) {
  double computing = local ? 3 + 3 * recorded.seconds : 10 + 5 * recorded.seconds;
  double standstill = known_run ? std::min(600.0, computing) : std::max(60.0, computing);
  if (wanted > 0) computing = standstill = wanted;
  const double start = computing + (local ? 3 : 60);
  return {seconds(standstill), seconds(std::max(computing, standstill)), seconds(start), seconds(180 + computing)};
}

// The words for the end of a run that did not end by itself.
std::string how_it_ended(const Recorded& recorded, const trace::Manifest& manifest) {
  for (const analyze::RankEnd& rank : recorded.end.ranks)
    if (rank.end.kind == trace::EndKind::Stopped)
      return fmt::format("rank {}: the recording ended here ({}); the run itself went on", rank.rank,
                         error_text(rank.end.value));
  const analyze::RankEnd* first = nullptr;  // that was not a good end
  for (const analyze::RankEnd& rank : recorded.end.ranks) {
    const std::string words = analyze::rank_end_words(rank);
    if (recorded.end.cause == rank.rank)
      return fmt::format("rank {}: the recorded run ended here ({})", rank.rank, words);
    const bool good = rank.end.kind == trace::EndKind::Finalized && rank.wait_status.value_or(0) == 0;
    if (!good && (!first || rank.order < first->order)) first = &rank;
  }
  if (first && first->wait_status)
    return fmt::format("the recorded run ended here ({})", analyze::rank_end_words(*first));
  return fmt::format("the recorded run ended here ({})",
                     printable(manifest.ended.empty() ? recorded.end.words : manifest.ended));
}

// As the record command ended or, if it did not live so long, as the rank did that ended the run.
int recorded_status(const Recorded& recorded, const trace::Manifest& manifest) {
  if (manifest.complete) return manifest.exit_status;
  for (const analyze::RankEnd& rank : recorded.end.ranks)
    if (recorded.end.cause == rank.rank) return analyze::rank_exit_code(rank).value_or(128 + SIGKILL);
  return 128 + SIGKILL;
}

void report_places(const Monitor& monitor, const OpenTrace& trace) {
  std::vector<report::Place> places;
  for (std::uint32_t i = 0; i < monitor.ranks().size(); ++i) {
    const MonitoredRank& rank = monitor.ranks()[i];
    places.push_back({i, rank.event, rank.state, rank.gone});
  }
  report::print_places(places, {trace.fd.get(), trace.manifest.trace_id});
}

std::string how_it_was_lost(const Monitor& monitor, std::uint32_t rank) {
  const auto status = monitor.end_of(rank);
  if (!status) return "the process ended by itself";
  return fmt::format("the process {} {}", WIFSIGNALED(*status) ? "was ended by" : "ended with", status_words(*status));
}

int conclude(const Verdict& verdict, const Monitor& monitor, const OpenTrace& trace, const Recorded& recorded) {
  const report::TraceRef ref{trace.fd.get(), trace.manifest.trace_id};
  const MonitoredRank& at = monitor.ranks()[verdict.rank];
  switch (verdict.kind) {
    case Verdict::Kind::Trouble:
      say("rank {} cannot be replayed: {}", verdict.rank, printable(verdict.text));
      return kTrouble;
    case Verdict::Kind::Diverged: report::print_divergence(verdict.rank, verdict.report, ref); break;
    case Verdict::Kind::Stalled:
      say("the replay cannot go on at rank {}: {}", verdict.rank, verdict.text);
      report_places(monitor, trace);
      break;
    case Verdict::Kind::Computes:
      say("the replay diverged at rank {}: it has made no call for {}, the whole recorded run took {:.1f} s",
          verdict.rank, verdict.text, recorded.seconds);
      report::print_no_further_call(verdict.rank, at.event, "it computes or waits outside of MPI", ref);
      report_places(monitor, trace);
      break;
    case Verdict::Kind::Lingers:
      say("the replay diverged: all ranks have ended, but the command goes on; the recorded run took {:.1f} s",
          recorded.seconds);
      break;
    case Verdict::Kind::Lost:
      say("the replay diverged: rank {} ended after {} of {} recorded calls", verdict.rank, at.event, at.total);
      report::print_no_further_call(verdict.rank, at.event, how_it_was_lost(monitor, verdict.rank), ref);
      break;
    case Verdict::Kind::Ended:
      say("{}", how_it_ended(recorded, trace.manifest));
      return recorded_status(recorded, trace.manifest);
  }
  say("next: reprise show --rank {} {}", verdict.rank, printable(shell_words({trace.path})));
  return kDiverged;
}

// Ranks that a Ctrl-C has ended, or that wait for those, have not diverged.
bool may_be_interrupted(const std::optional<Verdict>& verdict, const Monitor& monitor) {
  if (!verdict) return monitor.unfinished_rank().has_value();
  switch (verdict->kind) {
    case Verdict::Kind::Lost:
    case Verdict::Kind::Stalled:
    case Verdict::Kind::Computes:
    case Verdict::Kind::Lingers: return true;
    default: return false;
  }
}

int interrupted_by(int signal) {
  say("the replay was interrupted by {}", signal_name(signal));
  return 128 + signal;
}

int replay(const OpenTrace& trace, const std::vector<std::string>& other_command, const Options& options) {
  const std::vector<std::string>& command = other_command.empty() ? trace.manifest.command : other_command;
  if (command.empty()) fail("{}: the manifest names no command", printable(trace.path));
  if (trace.manifest.architecture != machine_architecture())
    fail("recorded on {}, this machine is {}: a trace is replayed on the architecture it was recorded on",
         printable(trace.manifest.architecture), machine_architecture());
  const Recorded recorded = read_recorded(trace);
  refuse_what_cannot_be_replayed(trace);
  confirm(trace, command, options.yes);

  const std::string directory = other_command.empty() ? trace.manifest.working_directory : working_directory();
  const ChosenMpi mpi = choose_mpi(command, trace.manifest.mpi);
  if (!mpi.found.program_mpi.empty() && mpi.found.program_mpi != trace.manifest.mpi)
    fail("recorded with {}, but this command uses {}: a run is replayed with the MPI it was recorded with",
         mpi_title(trace.manifest.mpi), mpi_title(mpi.found.program_mpi));
  // Slurm may choose other nodes than those of the recorded run, and its ranks are no descendants of ours.
  const bool local = recorded.one_host && other_command.empty() && mpi.found.launcher_kind != LauncherKind::Slurm;
  Monitor monitor(recorded.logs, !local, patience_for(recorded, trace.manifest.complete, local, options.stall_seconds));
  const Launch launch = prepare_launch(command, mpi.found, mpi.preload_library,
                                       {{"REPRISE_MODE", "replay"},
                                        {"REPRISE_DIR", std::filesystem::canonical(trace.path).string()},
                                        {"REPRISE_TRACE_ID", hex(trace.manifest.trace_id)},
                                        {"REPRISE_MONITOR", monitor.address()},
                                        {"REPRISE_PLACES", monitor.places()}});
  Job job = Job::start(launch.command, launch.environment, directory);
  std::optional<int> status;
  std::optional<Verdict> verdict;
  while (!(status = job.poll())) {
    verdict = monitor.step(50ms);
    if (verdict) break;
  }
  // What the ranks said last may still be on the way; of a short run, everything that they said.
  const auto drained = std::chrono::steady_clock::now() + 2s;
  for (bool more = true; !verdict && more && std::chrono::steady_clock::now() < drained;) {
    verdict = monitor.step(20ms);
    more = monitor.heard_something() || !monitor.all_gone();
  }
  if (verdict && verdict->kind == Verdict::Kind::Lost && (status = job.poll()) && WIFSIGNALED(*status))
    verdict.reset();  // the rank went down with its launcher
  if (verdict && verdict->kind == Verdict::Kind::Lost) {
    // How it ended is known to its launcher, which may be a little slower than the connection.
    const auto until = std::chrono::steady_clock::now() + 500ms;
    while (!monitor.end_of(verdict->rank) && std::chrono::steady_clock::now() < until) monitor.step(20ms);
  }
  for (const std::string& warning : monitor.warnings()) say("warning: {}", warning);
  if (const int signal = Job::received_signal(); signal != 0 && may_be_interrupted(verdict, monitor)) {
    monitor.abort();
    job.terminate();
    return interrupted_by(signal);
  }
  if (verdict) {
    if (verdict->kind == Verdict::Kind::Ended) {
      monitor.release();
      const auto until = std::chrono::steady_clock::now() + 3s;
      while (!job.poll() && std::chrono::steady_clock::now() < until) monitor.step(20ms);
    } else {
      monitor.abort();
    }
    job.terminate();
    return conclude(*verdict, monitor, trace, recorded);
  }
  if (WIFSIGNALED(*status)) monitor.abort();  // without their launcher the ranks cannot go on
  if (!job.await_descendants(5s)) job.terminate();
  if (const auto rank = monitor.unfinished_rank()) {
    const MonitoredRank& at = monitor.ranks()[*rank];
    say("the replay diverged: the command ended ({}) when rank {} {}", status_words(*status), *rank,
        at.connected ? fmt::format("had made {} of {} recorded calls", at.event, at.total) : "had not called MPI_Init");
    report_places(monitor, trace);
    return *status == 0 || monitor.any_connected() ? kDiverged : exit_code(*status);
  }
  // The ranks have done everything. If their launcher has not, that may have been so in the recorded run, too.
  const int code = exit_code(*status);
  const bool same_end = !trace.manifest.complete || !other_command.empty() || code == trace.manifest.exit_status;
  if (!same_end && code != 0) {
    if (const int signal = Job::received_signal()) return interrupted_by(signal);
    say("the replay diverged: all ranks did what was recorded, but the command ended with {}, recorded was {}",
        status_words(*status), trace.manifest.exit_status);
    return kDiverged;
  }
  if (!options.quiet) {
    std::uint64_t calls = 0;
    for (const Monitor::Log& log : recorded.logs) calls += log.total;
    say("replayed {}, {}, as recorded", counted(recorded.logs.size(), "rank"), counted(calls, "call"));
    say("next: reprise show {}", printable(shell_words({trace.path})));
  }
  // The launcher itself was killed, after its ranks had done everything.
  if (*status == 0 && trace.manifest.complete && trace.manifest.exit_status != 0) {
    say("{}", how_it_ended(recorded, trace.manifest));
    return trace.manifest.exit_status;
  }
  return code;
}

}  // namespace

int replay_command(int argc, char** argv) {
  Options options;
  CLI::App app(
      "Runs a recorded command again; every outcome is forced to be the recorded one.\n"
      "The exit status is the program's own, as recorded; 75 if the replay diverged,\n"
      "128+N if you ended it with signal N (Ctrl-C: 130).",
      "replay");
  set_manners(app,
              "[OPTIONS] [DIR] [-- COMMAND...]\n\n"
              "COMMAND replaces the recorded one (another launcher, other hosts); the program must be the same.");
  app.add_option("directory", options.directory, "The trace (default: ./reprise.d/latest)")->type_name("DIR");
  app.add_flag("-y,--yes", options.yes, "Run the command of a trace that came from elsewhere without asking");
  app.add_flag("-q,--quiet", options.quiet, "No closing summary");
  app.add_option("--stall-timeout", options.stall_seconds, "Seconds without any movement until the replay is given up")
      ->type_name("S")
      ->check(CLI::PositiveNumber);
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parse(app, line.own)) return *status;
  return replay(open_trace(options.directory), line.command, options);
}

}  // namespace reprise::cli
