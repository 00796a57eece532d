#include "cli/watch_replay.hpp"

#include <sys/wait.h>

#include "analyze/call_places.hpp"
#include "analyze/unseen_changes.hpp"
#include "base/text.hpp"
#include "cli/launch.hpp"
#include "cli/speech.hpp"
#include "cli/trace_notes.hpp"
#include "cli/libraries.hpp"
#include "cli/nodes.hpp"
#include "report/divergence.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;

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

// What the recording said or, if it was not looked for then, what was found now.
std::vector<analyze::DeadlockNote> deadlock_notes(const OpenTrace& trace, const Monitor& monitor) {
  auto notes = deadlock_notes(read_trace_notes(trace.fd.get(), trace.manifest));
  return notes.empty() ? monitor.deadlocks() : notes;
}

// A program that loads from its windows without a call of MPI in between reads what no call has shown it.
void say_what_changed(const OpenTrace& trace, std::uint32_t rank, std::uint64_t last_call) {
  const auto changes = analyze::changes_after(trace.fd.get(), trace.manifest.trace_id, rank, last_call);
  if (changes.empty()) return;
  analyze::CallPlaces places;
  places.want(rank, 0, last_call);
  if (!places.read(trace.fd.get(), trace.manifest.trace_id)) return;
  const analyze::UnseenChange& first = changes.front();
  say("{} of rank {} changed between call {} {} and the next one", analyze::name_of_memory(first.window, first.region, first.begin, first.size),
      rank, last_call, places.text(rank, 0, last_call));
  say("if the program loads them there, without a call that synchronises, such loads are not recorded: docs/solo.md, One-sided communication");
}

int conclude(const Verdict& verdict, const Monitor& monitor, const OpenTrace& trace, const Recorded& recorded) {
  const report::TraceRef ref{trace.fd.get(), trace.manifest.trace_id};
  const MonitoredRank& at = monitor.ranks()[verdict.rank];
  switch (verdict.kind) {
    case Verdict::Kind::Trouble:
      say("rank {} cannot be replayed: {}", verdict.rank, printable(verdict.text));
      return kTrouble;
    case Verdict::Kind::Diverged:
      report::print_divergence(verdict.rank, verdict.report, ref);
      if (verdict.report.event > 0) say_what_changed(trace, verdict.rank, verdict.report.event - 1);
      break;
    case Verdict::Kind::Stalled:
      say("the replay cannot go on at rank {}: {}", verdict.rank, verdict.text);
      report_places(monitor, trace);
      break;
    case Verdict::Kind::Computes:
      say("the replay diverged at rank {}: it has made no call for {}, the whole recorded run took {:.1f} s",
          verdict.rank, verdict.text, recorded.seconds);
      report::print_no_further_call(verdict.rank, at.event, "it computes or waits outside of MPI", ref);
      report_places(monitor, trace);
      if (at.event > 0) say_what_changed(trace, verdict.rank, at.event - 1);
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
      say_deadlocks(deadlock_notes(trace, monitor));
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

}  // namespace

std::optional<int> hear_how_it_ended(Job& job, Monitor& monitor, std::uint32_t rank) {
  // The job's clock advances in large steps, and stands still while somebody has stopped the launcher.
  const auto began = std::chrono::steady_clock::now();
  const auto until = monitor.job_time() + 500ms;
  while (true) {
    const std::optional<int> status = job.poll();
    const auto waited = std::chrono::steady_clock::now() - began;
    const bool is_silent = waited >= 500ms && monitor.job_time() >= until && !monitor.heard_something();
    if (monitor.end_of(rank) || is_silent || waited >= 10s) return status;
    monitor.step(20ms);
    // What the launcher said before it ended is here already, in some pieces.
    if (status && !monitor.heard_something()) return status;
  }
}

int watch_replay(Job& job, Monitor& monitor, const OpenTrace& trace, const Recorded& recorded,
                 const ReplayManners& how) {
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
  if (verdict && verdict->kind == Verdict::Kind::Lost) {
    status = hear_how_it_ended(job, monitor, verdict->rank);
    if (status && WIFSIGNALED(*status)) verdict.reset();  // the rank went down with its launcher
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
  const bool same_end = !trace.manifest.complete || how.other_command || code == trace.manifest.exit_status;
  if (!same_end && code != 0) {
    if (const int signal = Job::received_signal()) return interrupted_by(signal);
    say("the replay diverged: all ranks did what was recorded, but the command ended with {}, recorded was {}",
        status_words(*status), trace.manifest.exit_status);
    return kDiverged;
  }
  if (!how.quiet) {
    std::uint64_t calls = 0;
    std::size_t ranks = 0;
    for (const Monitor::Log& log : recorded.logs) {
      calls += log.absent ? 0 : log.total;
      ranks += log.absent ? 0 : 1;
    }
    std::string who = counted(ranks, "rank");
    if (trace.manifest.mpi == kMcapi) {
      const NodeTotals totals = totals_of_nodes(trace.fd.get(), trace.manifest, trace.ranks);
      who = how.nodes > 0 ? counted(how.nodes, "node") : counted(totals.nodes, "node");
      calls = totals.calls;
    }
    if (how.nodes > 0) say("replayed {}, as recorded", who);
    else say("replayed {}, {}, as recorded", who, counted(calls, "call"));
    say("next: reprise show {}", printable(shell_words({trace.path})));
  }
  // The launcher itself was killed, after its ranks had done everything.
  if (*status == 0 && trace.manifest.complete && trace.manifest.exit_status != 0) {
    say("{}", how_it_ended(recorded, trace.manifest));
    return trace.manifest.exit_status;
  }
  return code;
}

int watch_debugger(Job& job, Monitor& monitor, const OpenTrace& trace) {
  std::optional<int> status;
  while (!(status = job.poll())) {
    const auto verdict = monitor.step(50ms);
    if (!verdict) continue;
    if (verdict->kind == Verdict::Kind::Ended) monitor.release();
    if (verdict->kind == Verdict::Kind::Trouble) say("rank {}: {}", verdict->rank, printable(verdict->text));
    if (verdict->kind == Verdict::Kind::Diverged)
      report::print_divergence(verdict->rank, verdict->report, {trace.fd.get(), trace.manifest.trace_id});
  }
  if (!job.await_descendants(5s)) job.terminate();
  return exit_code(*status);
}

}  // namespace reprise::cli
