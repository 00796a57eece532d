#include "report/divergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/source_lines.hpp"
#include "analyze/timeline.hpp"
#include "base/text.hpp"
#include "report/call_words.hpp"
#include "report/node_words.hpp"

namespace reprise::report {
namespace {

using engine::RankState;
using engine::ReportedCall;

// What is logged in the place of the bytes is how many requests it was given.
bool takes_requests(std::string_view function) {
  for (const std::string_view part : {"MPI_Wait", "MPI_Test", "MPI_Start", "MPI_Cancel", "MPI_Request_"})
    if (function.find(part) != std::string_view::npos) return true;
  return false;
}

std::string call_words(const std::string& function, const engine::Arguments& values) {
  const ShownArguments shown = shown_arguments(function, values);
  std::string words = printable(function);
  if (is_mcapi(function)) {
    if (const std::string endpoint = endpoint_words(values); !endpoint.empty()) words += ", endpoint " + endpoint;
    return shown.bytes ? words + ", " + counted(static_cast<std::uint64_t>(values[engine::kBytes]), "byte") : words;
  }
  if (shown.peer) words += fmt::format(", peer {}", peer_words(values[engine::kPeer]));
  if (shown.tag) words += fmt::format(", tag {}", tag_words(values[engine::kTag]));
  const auto count = static_cast<std::uint64_t>(values[engine::kBytes]);
  if (shown.bytes && takes_requests(function)) words += ", " + counted(count, "request");
  else if (shown.bytes) words += ", " + counted(count, "byte");
  if (is_split(function)) words += ", " + colour_words(values);
  if (shown.communicator) words += fmt::format(", on {}", communicator_words(values[engine::kComm]));
  return words;
}

std::string line_words(analyze::SourceLines& lines, const std::string& module, const std::string& build_id,
                       std::uint64_t offset) {
  return module.empty() ? "an unknown place" : printable(lines.find(module, build_id, offset).text());
}

std::string reported_words(analyze::SourceLines& lines, const ReportedCall& call, const char* nothing) {
  if (call.function.empty()) return nothing;
  return fmt::format("{} at {}", call_words(call.function, call.arguments),
                     line_words(lines, call.module, call.build_id, call.offset));
}

const char* likely_causes(const engine::DivergenceReport& report) {
  if (report.recorded.function == report.actual.function && !report.actual.function.empty() &&
      report.recorded.offset == report.actual.offset)
    return "the program computed another value: other input or environment, uninitialised memory, a race between "
           "threads,\n"
           "    or a source of chance that Reprise does not record (reprise show lists unsupported calls)";
  return "the program took another path: other input or environment, a changed file or library, a race between "
         "threads,\n"
         "    or a source of chance that Reprise does not record (reprise show lists unsupported calls)";
}

// The call with this number, in words; empty if the log has none.
std::string call_at(const TraceRef& trace, std::uint32_t rank, std::uint64_t number, analyze::SourceLines& lines) {
  auto timeline = analyze::Timeline::open(trace.dir_fd, rank, trace.id);
  if (!timeline) return printable(timeline.error().what);
  for (;;) {
    const auto call = timeline->next();
    if (!call || !*call) return "";
    if ((*call)->number != number) continue;
    const auto& module = timeline->module_of(**call);
    return fmt::format("{} at {}", call_words(timeline->function_of(**call).name, (*call)->arguments),
                       line_words(lines, module.path, module.build_id, timeline->site_of(**call).offset));
  }
}

// ", after MPI_Send ... at ...": the last of so many calls.
std::string after_call(const TraceRef& trace, std::uint32_t rank, std::uint64_t calls, analyze::SourceLines& lines) {
  const std::string words = calls == 0 ? "" : call_at(trace, rank, calls - 1, lines);
  return words.empty() ? "" : ", after " + words;
}

void print_two_calls(const std::string& recorded, const std::string& now) {
  fmt::print(stderr, "  recorded: {}\n", recorded);
  fmt::print(stderr, "  now:      {}\n", now);
}

}  // namespace

void print_divergence(std::uint32_t rank, const engine::DivergenceReport& report, const TraceRef& trace) {
  analyze::SourceLines lines;
  fmt::print(stderr, "reprise: the replay diverged at call {} of rank {}: {}\n", report.event, rank,
             printable(report.reason));
  std::string recorded = reported_words(lines, report.recorded, "");
  if (recorded.empty()) recorded = call_at(trace, rank, report.event, lines);
  std::string now = reported_words(lines, report.actual, "no further call");
  if (now == recorded && report.recorded.offset != report.actual.offset) {
    // Two calls of one line: a compiler that has unrolled a loop or copied a function into two places.
    recorded += fmt::format(" [{:#x}]", report.recorded.offset);
    now += fmt::format(" [{:#x}]", report.actual.offset);
  }
  // A crash may be in a library, far from the program's own lines.
  if (report.actual.function.find("MPI_") == std::string::npos) now += after_call(trace, rank, report.event, lines);
  print_two_calls(recorded.empty() ? "no further call" : recorded, now);
  fmt::print(stderr, "  likely:   {}\n", likely_causes(report));
}

void print_no_further_call(std::uint32_t rank, std::uint64_t calls, const std::string& instead, const TraceRef& trace) {
  analyze::SourceLines lines;
  const std::string recorded = call_at(trace, rank, calls, lines);
  print_two_calls(recorded.empty() ? "no further call" : recorded, instead + after_call(trace, rank, calls, lines));
}

void print_places(const std::vector<Place>& places, const TraceRef& trace) {
  analyze::SourceLines lines;
  std::map<std::string, std::vector<std::uint32_t>> groups;
  for (const Place& place : places) {
    std::string words;
    if (place.gone) words = "ended";
    else if (place.state == RankState::Finalized) words = "after MPI_Finalize";
    else if (place.state == RankState::Holding) words = "at the end of its log";
    else if (place.event == 0) words = "before MPI_Init";
    else
      words = fmt::format("{} {}", place.state == RankState::Running || place.state == RankState::Threaded ? "after" : "in",
                          call_at(trace, place.rank, place.event - 1, lines));
    groups[words].push_back(place.rank);
  }
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [words, ranks] : sorted)
    fmt::print(stderr, "  {} {:<10} {}\n", ranks.size() == 1 ? "rank " : "ranks", number_ranges(ranks), words);
}

}  // namespace reprise::report
