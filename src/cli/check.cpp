// reprise check: did the MPI library deliver every byte where the program wanted it?
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "cli/check_flows.hpp"
#include "cli/check_reproducers.hpp"
#include "cli/check_sweep.hpp"
#include "cli/commands.hpp"
#include "cli/intention_logs.hpp"
#include "cli/launch.hpp"
#include "cli/options.hpp"
#include "cli/record.hpp"
#include "cli/reported_finding.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "flow/checker.hpp"
#include "flow/counterparts.hpp"
#include "flow/tracker.hpp"

namespace reprise::cli {
namespace {

using flow::Violation;

struct Options {
  RecordOptions record;
  std::string trace;  // of a run that was checked before
  bool json = false;
  bool no_reproducers = false;
};

struct Found {
  flow::Verdict verdict;
  IntentionLogs logs;
  IntentionLogs logs_again;
  FlowSums sums;
  std::map<std::size_t, FlowFinding> flows;  // by number of the violation
};

Found look(const OpenTrace& trace, bool ended_well) {
  Found found;
  found.logs = open_intention_logs(trace);
  if (!ended_well) found.logs.cut_off.assign(trace.manifest.ranks, true);
  flow::Checker checker(trace.manifest.ranks);
  FlowSums& sums = found.sums;
  const auto keep_related = [&](const flow::Delivery& delivery, const flow::TrackedOperation& giver, const flow::TrackedOperation& taker, std::uint64_t bytes,
                                std::uint64_t followed) {
    if (followed == bytes) sums.related.arrived(delivery, *giver.shape, *taker.shape, bytes, taker.order < giver.order);
  };
  const auto sum_up = [&](const flow::Tracker& tracker) {
    sums.followed = tracker.followed();
    sums.lost = tracker.troubles();
    sums.movements = tracker.movements();
  };
  flow::Tracker tracker(trace.manifest.ranks);
  tracker.tell_deliveries(keep_related);
  found.logs.read([&](const flow::Event& event) { return tracker.is_ready(event); },
                  [&](std::uint32_t rank, flow::Event event) {
                    sums.any = sums.any || event.kind == trace::IntentionRecord::Process;
                    if (sums.any) tracker.add(rank, event);
                    checker.add(rank, std::move(event));
                  });
  sum_up(tracker);
  sums.held = tracker.found_held();
  // What was packed where nobody saw it is known only when it is over: once more, from the beginning.
  if (!sums.held.empty()) {
    flow::Tracker again(trace.manifest.ranks);
    again.tell_deliveries(keep_related);
    again.know(&sums.held);
    found.logs_again = open_intention_logs(trace);
    found.logs_again.follow(again);
    sum_up(again);
  }
  found.verdict = checker.finish(found.logs.cut_off);
  if (sums.any) found.flows = find_flows(trace, found.verdict, sums);
  return found;
}

// A reproducer needs all calls that belong together.
void find_counterparts(const OpenTrace& trace, Found& found) {
  flow::Counterparts counterparts(found.verdict);
  if (!counterparts.any()) return;
  const auto each = [&](auto what) {
    for (const auto& [rank, number] : found.logs.log_of)
      if (auto log = flow::IntentionLog::open(trace.fd.get(), trace.manifest.trace_id, rank)) what(rank, *log);
  };
  each([&](std::uint32_t rank, flow::IntentionLog& log) { counterparts.locate(rank, log); });
  each([&](std::uint32_t rank, flow::IntentionLog& log) {
    counterparts.collect(rank, log);
    found.logs.logs.push_back(std::move(log));
  });
  counterparts.finish();
}

const flow::LoggedType* blamed_type(const Found& found, const Violation& violation) {
  const auto& blamed = violation.type;
  const auto log = blamed ? found.logs.log_of.find(blamed->rank) : found.logs.log_of.end();
  if (log == found.logs.log_of.end()) return nullptr;
  const auto& types = found.logs.logs[log->second].types();
  return blamed->number < types.size() ? &types[blamed->number] : nullptr;
}

ReportedPlace place_of(const flow::Part& part, analyze::SourceLines& lines) {
  analyze::NoteFields fields(*part.shape->place);
  return read_place(static_cast<int>(part.rank), fields, lines);
}

std::string described(const flow::LoggedGroup& group) {
  if (group.inter()) return fmt::format("an intercommunicator of {}+{} ranks", group.local.size(), group.remote.size());
  return fmt::format("a communicator of {}", counted(group.local.size(), "rank"));
}

// "MPI_Gatherv on a communicator of 4 ranks, call 812 of rank 2 at app.c:91 -> rank 0 at app.c:93"
std::string title(const Violation& violation, analyze::SourceLines& lines) {
  if (violation.path.empty()) return violation.type ? "MPI_Pack" : "a call too long ago to be named";
  const flow::Part& last = violation.path.back();
  const ReportedPlace to = place_of(last, lines);
  std::string text;
  if (violation.path.size() > 1) {
    const flow::Part& first = violation.path.front();
    const ReportedPlace from = place_of(first, lines);
    text = fmt::format("{}{} on {}, call {} of rank {} at {} -> ", from.call, to.call != from.call ? " and " + to.call : "",
                       described(*first.shape->group), first.call, first.rank, from.at);
  } else {
    text = fmt::format("{} on {}, ", to.call, described(*last.shape->group));
  }
  return text + fmt::format("call {} of rank {} at {}", last.call, last.rank, to.at);
}

// The same thing between the same two places of the program: shown once.
using Sameness = std::tuple<Violation::Kind, std::string, std::vector<std::string>>;
Sameness sameness_of(const Violation& violation) {
  std::vector<std::string> places;
  for (const flow::Part& part : violation.path) places.push_back(*part.shape->place);
  // A datatype has no place. Ranks number theirs alike, as a rule.
  if (violation.type) places.push_back(std::to_string(violation.type->number));
  return {violation.kind, violation.excuse, std::move(places)};
}

// By number of the violation; one for each sort, and not too many.
using Reproducers = std::map<std::size_t, MadeReproducer>;
constexpr std::size_t kMostReproducers = 10;
Reproducers make_reproducers(const Found& found, const std::string& directory, const Toolchain& tools) {
  const flow::Verdict& verdict = found.verdict;
  Reproducers all;
  std::set<Sameness> seen;
  std::size_t made = 0;
  for (std::size_t i = 0; i < verdict.violations.size() && all.size() < kMostReproducers; ++i) {
    const Violation& violation = verdict.violations[i];
    if (!violation.excuse.empty() || !seen.insert(sameness_of(violation)).second) continue;
    all[i] = make_reproducer(violation, blamed_type(found, violation), directory, made + 1, tools);
    if (!all[i].path.empty()) ++made;
  }
  return all;
}

void print(const Found& found, const Reproducers& reproducers) {
  const flow::Verdict& verdict = found.verdict;
  analyze::SourceLines lines;
  std::map<Sameness, std::uint64_t> times;
  for (const Violation& violation : verdict.violations) ++times[sameness_of(violation)];
  for (std::size_t i = 0; i < verdict.violations.size(); ++i) {
    const Violation& violation = verdict.violations[i];
    const auto same = times.extract(sameness_of(violation));
    if (same.empty()) continue;  // it was shown
    if (violation.excuse.empty()) {
      fmt::print("{}: {}\n", name_of(violation.kind), title(violation, lines));
    } else {
      fmt::print("the program broke the rule, not the library: {}\n  {}\n", violation.excuse, title(violation, lines));
    }
    fmt::print("  {}\n", violation.words);
    if (const auto flow = found.flows.find(i); flow != found.flows.end())
      for (const std::string& words : flow->second.words) fmt::print("  {}\n", words);
    if (same.mapped() > 1) fmt::print("  and the same there {} times more\n", same.mapped() - 1);
    if (const auto made = reproducers.find(i); made != reproducers.end())
      fmt::print("  {}{}\n", made->second.path.empty() ? "" : "a stand-alone program: " + printable(made->second.path) + "; ",
                 made->second.words);
  }
  if (verdict.more > 0) fmt::print("and {} more\n", verdict.more);
  std::fflush(stdout);
}

nlohmann::json as_json(const Found& found, const RecordedTrace& run, const Reproducers& reproducers) {
  analyze::SourceLines lines;
  const flow::Verdict& verdict = found.verdict;
  nlohmann::json out{{"trace", run.path},
                     {"exit status", run.exit_status},
                     {"intentions", verdict.intentions()},
                     {"messages", verdict.messages},
                     {"collectives", verdict.collectives},
                     {"accesses", verdict.accesses},
                     {"events", verdict.events},
                     {"unchecked", nlohmann::json::object()},
                     {"troubles", found.logs.troubles},
                     {"violations", nlohmann::json::array()}};
  for (const auto& [why, count] : verdict.unchecked) out["unchecked"][why] = count;
  if (found.sums.any) out["flows"] = as_json(found.sums);
  for (std::size_t i = 0; i < verdict.violations.size(); ++i) {
    const Violation& violation = verdict.violations[i];
    nlohmann::json one{{"kind", name_of(violation.kind)}, {"what", violation.words}, {"by program", !violation.excuse.empty()}};
    if (!violation.excuse.empty()) one["rule"] = violation.excuse;
    for (const flow::Part& part : violation.path) {
      const ReportedPlace place = place_of(part, lines);
      one["calls"].push_back({{"rank", part.rank}, {"number", part.call}, {"call", place.call}, {"at", place.at}});
    }
    if (const auto flow = found.flows.find(i); flow != found.flows.end()) one["flow"] = flow->second.as_json();
    if (const auto made = reproducers.find(i); made != reproducers.end())
      one["reproducer"] = {{"file", made->second.path}, {"shows it", made->second.shows}, {"what", made->second.words}};
    out["violations"].push_back(std::move(one));
  }
  return out;
}

struct Counts {
  std::uint64_t unfulfilled = 0;  // intentions, though several things may be wrong with one
  std::uint64_t excused = 0;
  std::uint64_t types = 0;
};
Counts counts_of(const flow::Verdict& verdict) {
  Counts counts;
  std::set<std::pair<std::uint32_t, std::uint64_t>> calls;
  std::set<std::uint64_t> types;
  for (const Violation& one : verdict.violations) {
    if (!one.excuse.empty()) ++counts.excused;
    else if (one.type) types.insert(one.type->number);
    else if (one.path.empty() || calls.insert({one.path.back().rank, one.path.back().call}).second) ++counts.unfulfilled;
  }
  counts.unfulfilled += verdict.more;
  counts.types = types.size();
  return counts;
}

int check(const std::vector<std::string>& command, const Options& options) {
  RecordOptions quietly = options.record;
  quietly.flow = true;
  quietly.quiet = true;
  RecordedTrace run{options.trace, 0};
  if (!command.empty()) run = record(command, quietly);
  if (run.path.empty() && !command.empty()) return run.exit_status;
  const OpenTrace trace = open_trace(run.path);
  run.path = trace.path;
  run.exit_status = trace.manifest.exit_status;
  Found found = look(trace, run.exit_status == 0);
  const flow::Verdict& verdict = found.verdict;
  Reproducers reproducers;
  if (!options.no_reproducers) {
    find_counterparts(trace, found);
    reproducers = make_reproducers(found, trace.files, find_toolchain(trace.manifest.command, trace.manifest.mpi));
  }
  if (options.json) fmt::print("{}\n", as_json(found, run, reproducers).dump(2));
  else print(found, reproducers);
  const Counts counts = counts_of(verdict);
  if (!options.record.quiet) {
    for (const std::string& trouble : found.logs.troubles) say("{}", printable(trouble));
    if (counts.types > 0) say("{} not packed as described", counts.types == 1 ? "1 datatype is" : fmt::format("{} datatypes are", counts.types));
    if (counts.unfulfilled == 0) say("all of {} were fulfilled", counted(verdict.intentions(), "intention"));
    else
      say("{} of {} {} not fulfilled", counts.unfulfilled, counted(verdict.intentions(), "intention"),
          counts.unfulfilled == 1 ? "was" : "were");
    if (counts.excused > 0) say("{} where the program broke a rule of MPI", counts.excused);
    for (const std::string& line : summary_of(found.sums)) say("{}", line);
    for (const auto& [why, count] : verdict.unchecked) say("not checked: {} ({})", why, count);
    if (run.exit_status != 0) say("the program ended with {}", printable(trace.manifest.ended));
    if (!command.empty()) say("recorded in {}; again: reprise check {}", printable(run.path), printable(run.path));
  }
  if (verdict.violations.size() + verdict.more > 0) return 1;
  return found.logs.troubles.empty() ? 0 : 2;
}

}  // namespace

int check_command(int argc, char** argv) {
  const CommandLine line = split_command_line(argc, argv);
  if (std::find(line.own.begin(), line.own.end(), "--sweep") != line.own.end()) return sweep_command(argc, argv);
  Options options;
  OptionParser parser("check",
                      "Runs a command and checks that the MPI library delivered every byte where the program wanted it: what\n"
                      "calls gave is compared with what others got, after the run. Exit status: 0 if all is well, 1 if\n"
                      "something was not delivered, 2 if not everything could be looked at.",
                      "[OPTIONS] -- COMMAND...\n       reprise check [OPTIONS] DIR      what such a run has left\n"
                      "       reprise check --sweep            a program of our own that calls MPI in all ways (see --sweep -h)\n\n"
                      "Example: reprise check -- mpirun -n 4 ./app input.txt");
  parser.option("DIR", options.trace, "The trace of a run that was checked before", "");
  parser.option("-o,--output", options.record.directory, "Directory for the trace (default: ./reprise.d/NAME-K)", "DIR");
  parser.mpi_option(options.record.mpi);
  parser.flag("--flows", options.record.movements,
              "Follow the bytes through the library, too, and say where inside it they went wrong");
  parser.flag("--no-reductions", options.record.no_flow_messages,
              "Leave out what takes messages of our own: reductions and windows");
  parser.flag("--no-reproducers", options.no_reproducers, "Do not make and try stand-alone programs");
  parser.flag("--json", options.json, "The result as JSON");
  parser.flag("-q,--quiet", options.record.quiet, "No closing summary");
  if (const auto status = parser.parse(line.own)) return *status;
  if (line.command.empty() && options.trace.empty()) fail("check: which command? For example: reprise check -- mpirun -n 4 ./app");
  return check(line.command, options);
}

}  // namespace reprise::cli
