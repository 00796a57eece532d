// reprise show: what a recorded run did. A summary first; the calls one by one when asked for; where every rank is in
// a run that hangs.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "analyze/blocked.hpp"
#include "analyze/call_filter.hpp"
#include "analyze/run_end.hpp"
#include "analyze/run_summary.hpp"
#include "analyze/source_lines.hpp"
#include "analyze/timeline.hpp"
#include "base/text.hpp"
#include "cli/commands.hpp"
#include "cli/nodes.hpp"
#include "cli/options.hpp"
#include "cli/show_flow.hpp"
#include "cli/show_writers.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "cli/trace_notes.hpp"
#include "report/blocked_view.hpp"
#include "report/summary_view.hpp"
#include "report/trace_view.hpp"

namespace reprise::cli {

namespace {

constexpr std::uint64_t kTableLimit = 100;               // calls per rank that a person reads at once
constexpr auto kWatch = std::chrono::milliseconds(500);  // between two looks at a running program

struct Options {
  std::string trace;
  std::string ranks, communicators, tags, peers, places, events;  // as given
  std::vector<std::string> calls;
  std::optional<std::uint64_t> limit;
  bool list = false;
  bool summary = false;
  bool blocked = false;
  bool writers = false;
  std::string flow;
  bool json = false;

  std::uint64_t calls_per_rank() const {
    const std::uint64_t wanted = limit.value_or(json ? 0 : kTableLimit);
    return wanted == 0 ? UINT64_MAX : wanted;
  }
};

template <class T>
T parsed(const char* option, Result<T> result) {
  if (!result) fail("show: {}: {}", option, result.error().what);
  return std::move(*result);
}

analyze::CallFilter filter_of(const Options& options) {
  analyze::CallFilter filter;
  if (!options.events.empty()) filter.events = parsed("--events", analyze::NumberSet::parse(options.events));
  if (!options.tags.empty()) filter.tags = parsed("--tag", analyze::parse_values(options.tags));
  if (!options.peers.empty()) filter.peers = parsed("--peer", analyze::parse_values(options.peers));
  if (!options.places.empty()) filter.places = parsed("--at", analyze::parse_places(options.places));
  if (!options.communicators.empty())
    filter.communicators = parsed("--comm", analyze::parse_communicators(options.communicators));
  filter.calls = options.calls;
  return filter;
}

// The ranks that were asked for. A rank that is named and has no log is a mistake; an open end is not.
std::vector<analyze::RankEnd> chosen_ranks(const Options& options, const OpenTrace& trace, const analyze::RunEnd& end) {
  if (options.ranks.empty()) return end.ranks;
  const analyze::NumberSet wanted = parsed("--rank", analyze::NumberSet::parse(options.ranks));
  const auto& have = trace.ranks;
  for (const auto& range : wanted.ranges()) {
    std::uint64_t named = range.first;
    const bool open = range.last == UINT64_MAX;
    while (named <= range.last && named < UINT32_MAX &&
           std::binary_search(have.begin(), have.end(), static_cast<std::uint32_t>(named)))
      ++named;
    if (open ? have.empty() || range.first > have.back() : named <= range.last)
      fail("{} has no log of rank {} (it has {})", printable(trace.path), named,
           have.empty() ? "none" : number_ranges(have));
  }
  std::vector<analyze::RankEnd> chosen;
  for (const analyze::RankEnd& rank : end.ranks)
    if (wanted.contains(rank.rank)) chosen.push_back(rank);
  return chosen;
}

struct Shown {
  std::uint64_t calls = 0;     // that were looked at
  std::uint64_t matching = 0;  // of these
  bool readable = true;        // all logs could be read to the end
};

// One thread of a rank. `known`: the communicators of its main thread, which comes first and fills them in.
void show_thread(const OpenTrace& trace, const analyze::RankEnd& rank, std::uint64_t limit,
                 const analyze::CallFilter& filter, analyze::SourceLines& lines, report::TraceView& view, Shown& shown,
                 std::vector<engine::CommunicatorRecord>& known) {
  view.begin_rank(rank);
  auto timeline = analyze::Timeline::open(trace.fd.get(), rank.rank, trace.manifest.trace_id, rank.thread, known);
  if (!timeline) {
    shown.readable = false;
    view.end_rank(0, timeline.error().what);
    return;
  }
  analyze::CallMatcher matcher(filter, *timeline, lines);
  std::size_t communicators = known.size();
  std::size_t notes = 0;
  std::uint64_t matching = 0;
  std::string trouble;
  analyze::Call call;
  for (;;) {
    const auto have = timeline->next(call);
    for (; communicators < timeline->communicators().size(); ++communicators)
      view.communicator(communicators, timeline->communicators()[communicators]);
    for (; notes < timeline->notes().size(); ++notes) view.note(timeline->notes()[notes]);
    if (!have) trouble = have.error().what;
    if (!have || !*have) break;
    ++shown.calls;
    if (matcher.matches(call) && ++matching <= limit) {
      const auto& module = timeline->module_of(call);
      view.call(call, *timeline, lines.find(module.path, module.build_id, timeline->site_of(call).offset));
    }
    if (matcher.over(call)) break;
    if (matching >= limit && !filter.active()) {  // how many are left is known without reading them
      matching = std::max(matching, rank.calls);
      break;
    }
  }
  shown.matching += matching;
  if (!trouble.empty()) shown.readable = false;
  view.end_rank(matching - std::min(matching, limit), trouble);
  if (rank.thread == 0) known = timeline->communicators();
}

// Of MCAPI, only the nodes that were asked for, if any.
void show_rank(const OpenTrace& trace, const analyze::RankEnd& rank, const ChosenNodes& nodes, std::uint64_t limit,
               const analyze::CallFilter& filter, analyze::SourceLines& lines, report::TraceView& view, Shown& shown) {
  std::vector<engine::CommunicatorRecord> communicators;
  analyze::RankEnd main = rank;
  main.node = nodes.name_of(rank.rank, 0);
  if (nodes.shows(rank.rank, 0)) show_thread(trace, main, limit, filter, lines, view, shown, communicators);
  for (const std::uint32_t number : trace::streams_of(trace.fd.get(), rank.rank)) {
    if (number == 0 || !nodes.shows(rank.rank, number)) continue;
    analyze::RankEnd thread = rank;
    thread.thread = number;
    thread.node = nodes.name_of(rank.rank, number);
    thread.trouble.clear();
    const auto reader = trace::RankReader::open(trace.fd.get(), rank.rank, trace.manifest.trace_id, number);
    thread.calls = reader ? reader->total_events() : 0;
    show_thread(trace, thread, limit, filter, lines, view, shown, communicators);
  }
}

int finish(bool readable) {
  if (std::fflush(stdout) != 0) fail("cannot write to stdout: {}", error_text(errno));
  return readable ? 0 : kTrouble;
}

int show_calls(const Options& options, const OpenTrace& trace, const analyze::RunEnd& end) {
  const analyze::CallFilter filter = filter_of(options);
  const auto view =
      options.json ? report::json_view() : report::table_view(report::Paint(STDOUT_FILENO), filter.active());
  analyze::SourceLines lines;
  Shown shown;
  const ChosenNodes nodes(trace, options.ranks);
  const auto ranks = nodes.any() ? end.ranks : chosen_ranks(options, trace, end);
  view->begin(trace.path, trace.manifest, end);
  for (const analyze::RankEnd& rank : ranks)
    show_rank(trace, rank, nodes, options.calls_per_rank(), filter, lines, *view, shown);
  view->end();
  const int status = finish(shown.readable);
  if (filter.active() && !options.json)
    say("{} of {} match", with_thousands(shown.matching), counted(shown.calls, "call"));
  return status;
}

int show_summary(const Options& options, const OpenTrace& trace, const analyze::RunEnd& end) {
  const analyze::CallFilter filter = filter_of(options);
  const std::uint32_t highest = trace.ranks.empty() ? 0 : trace.ranks.back() + 1;
  analyze::SourceLines lines;
  analyze::Summarizer summarizer(std::max({end.world, trace.manifest.ranks, highest}), filter, lines);
  bool readable = true;
  for (const analyze::RankEnd& rank : chosen_ranks(options, trace, end))
    readable &= summarizer.add(trace.fd.get(), trace.manifest.trace_id, rank);
  const analyze::RunSummary summary = summarizer.finish();
  if (options.json) report::print_summary_json(trace.path, trace.manifest, end, summary);
  else report::print_summary(report::Paint(STDOUT_FILENO), trace.path, trace.manifest, end, summary, filter.active());
  const int status = finish(readable);
  const std::string self = "reprise show" + (options.trace.empty() ? "" : ' ' + printable(options.trace));
  const bool blocked = end.running || !deadlock_notes(read_trace_notes(trace.fd.get(), trace.manifest)).empty();
  if (!options.json && blocked) say("next: {} --blocked (where every rank is)", self);
  else if (!options.json) say("next: {} --calls, or only some: --rank, --call, --at, --peer, --tag, --comm", self);
  return status;
}

int show_blocked(const Options& options, const OpenTrace& trace, const analyze::RunEnd& end) {
  if (filter_of(options).active()) fail("show: --blocked goes with --rank and --json only");
  const auto chosen = chosen_ranks(options, trace, end);
  analyze::SourceLines lines;
  analyze::BlockedFinder finder(lines);
  bool readable = true;
  for (const analyze::RankEnd& rank : end.ranks) readable &= finder.add(trace.fd.get(), trace.manifest.trace_id, rank);
  for (const std::uint32_t rank : end.missing) finder.add_without_log(rank);
  if (end.running) {
    std::this_thread::sleep_for(kWatch);
    finder.look_again(trace.fd.get(), trace.manifest.trace_id);
  }
  analyze::Blocked blocked = finder.finish();
  blocked.deadlocks = analyze::read_deadlocks(deadlock_notes(read_trace_notes(trace.fd.get(), trace.manifest)), lines);
  if (!options.ranks.empty()) {
    const auto unwanted = [&](const analyze::Position& position) {
      return std::none_of(chosen.begin(), chosen.end(), [&](const auto& rank) { return rank.rank == position.rank; });
    };
    for (auto& group : blocked.groups) std::erase_if(group.ranks, unwanted);
    std::erase_if(blocked.groups, [](const auto& group) { return group.ranks.empty(); });
  }
  const double watched = end.running ? std::chrono::duration<double>(kWatch).count() : 0;
  if (options.json) report::print_blocked_json(trace.path, trace.manifest, end, blocked, watched);
  else report::print_blocked(report::Paint(STDOUT_FILENO), trace.path, trace.manifest, end, blocked, watched);
  return finish(readable);
}

int show(const Options& options) {
  const bool filtered = filter_of(options).active();  // a mistake in it comes before one in the trace
  const OpenTrace trace = open_trace(options.trace);
  const analyze::RunEnd end = analyze::read_run_end(trace.fd.get(), trace.manifest, trace.ranks);
  if (options.blocked) return show_blocked(options, trace, end);
  if (options.writers) {
    if (filtered) fail("show: --writers goes with --rank, --limit and --json only");
    std::vector<std::uint32_t> readers;
    for (const analyze::RankEnd& rank : chosen_ranks(options, trace, end)) readers.push_back(rank.rank);
    return show_writers(trace, readers, options.calls_per_rank(), options.json);
  }
  if (!options.flow.empty()) {
    if (filtered || !options.ranks.empty()) fail("show: --flow goes with --limit and --json only");
    return show_flow(trace, options.flow, options.calls_per_rank(), options.json);
  }
  const bool some = filtered || !options.ranks.empty() || options.limit;
  const bool calls = options.list || (some && !options.summary);
  return calls ? show_calls(options, trace, end) : show_summary(options, trace, end);
}

}  // namespace

int show_command(int argc, char** argv) {
  Options options;
  OptionParser parser(
      "show",
      "Shows what a recorded run did: a summary; with --calls or any filter, the calls of every rank with their "
      "outcomes "
      "and source lines; with --blocked, where every rank is, also while the program runs.",
      "[DIR] [OPTIONS]");
  parser.option("DIR", options.trace, "The trace (default: the latest in ./reprise.d)", "");
  parser.flag("--summary", options.summary, "Messages, calls, racing lines (default without filters)");
  parser.flag("--calls", options.list, "Every call (default with filters)");
  parser.flag("--blocked", options.blocked, "Where every rank is, the odd one out first");
  parser.flag("--writers", options.writers, "Who wrote what ranks saw in their windows (needs record --data)");
  parser.option("--flow", options.flow, "How the MPI library moved the bytes of a call, as `check` counts calls; of a rank: which there are (needs check --flows)", "RANK[:CALL]");
  parser.option("-r,--rank", options.ranks, "Only these ranks: 0,3-5", "R");
  parser.option("-c,--call", options.calls, "Only these functions: 'MPI_*recv', barrier", "GLOB").comma_separated();
  parser.option("--at", options.places, "Only these source lines: solver.c, solver.c:12-40", "FILE[:LINE]");
  parser.option("--peer", options.peers, "Only calls with these world ranks on the other side; any: wildcards", "R");
  parser.option("--tag", options.tags, "Only these tags, as asked for or as received", "T");
  parser.option("--comm", options.communicators, "Only this communicator: world, self, a rank's number, or @UID", "C");
  parser.option("--events", options.events, "Only calls with these numbers: 100-200", "N");
  parser.option("-n,--limit", options.limit, "At most N calls per rank; 0: all (default: 100, with --json all)", "N");
  parser.flag("--json", options.json, "One JSON object in place of tables");
  const CommandLine line = split_command_line(argc, argv);
  if (const auto status = parser.parse(line.own)) return *status;
  if (!line.command.empty()) fail("show: nothing goes after \"--\" (see reprise show -h)");
  if (options.summary + options.list + options.blocked + options.writers + !options.flow.empty() > 1)
    fail("show: --summary, --calls, --blocked, --writers and --flow are different outputs; choose one (see reprise show -h)");
  return show(options);
}

}  // namespace reprise::cli
