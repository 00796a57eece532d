#include "report/divergence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "analyze/source_lines.hpp"
#include "analyze/timeline.hpp"
#include "base/text.hpp"
#include "report/call_words.hpp"

namespace reprise::report {
namespace {

using engine::RankState;
using engine::ReportedCall;

std::string call_words(const std::string& function, const engine::Arguments& values) {
  const ShownArguments shown = shown_arguments(function, values);
  std::string words = printable(function);
  if (shown.peer) words += fmt::format(", peer {}", peer_words(values[engine::kPeer]));
  if (shown.tag) words += fmt::format(", tag {}", tag_words(values[engine::kTag]));
  if (shown.bytes) words += fmt::format(", {} bytes", values[engine::kBytes]);
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

// The call with this number, in words.
std::string call_at(int dir_fd, std::uint32_t rank, std::uint64_t trace_id, std::uint64_t number,
                    analyze::SourceLines& lines) {
  auto timeline = analyze::Timeline::open(dir_fd, rank, trace_id);
  if (!timeline) return printable(timeline.error().what);
  for (;;) {
    const auto call = timeline->next();
    if (!call || !*call) return fmt::format("call {}", number);
    if ((*call)->number != number) continue;
    const auto& module = timeline->module_of(**call);
    return fmt::format("{} at {}", call_words(timeline->function_of(**call).name, (*call)->arguments),
                       line_words(lines, module.path, module.build_id, timeline->site_of(**call).offset));
  }
}

}  // namespace

void print_divergence(std::uint32_t rank, const engine::DivergenceReport& report) {
  analyze::SourceLines lines;
  fmt::print(stderr, "reprise: the replay diverged at call {} of rank {}: {}\n", report.event, rank,
             printable(report.reason));
  fmt::print(stderr, "  recorded: {}\n", reported_words(lines, report.recorded, "(see the reason)"));
  fmt::print(stderr, "  now:      {}\n", reported_words(lines, report.actual, "no further call"));
  fmt::print(stderr, "  likely:   {}\n", likely_causes(report));
}

void print_places(const std::vector<Place>& places, int dir_fd, std::uint64_t trace_id) {
  analyze::SourceLines lines;
  std::map<std::string, std::vector<std::uint32_t>> groups;
  for (const Place& place : places) {
    std::string words;
    if (place.gone) words = "ended";
    else if (place.state == RankState::Finalized) words = "after MPI_Finalize";
    else if (place.state == RankState::Holding) words = "at the end of its log";
    else if (place.event == 0) words = "before MPI_Init";
    else
      words = fmt::format("{} {}", place.state == RankState::Running ? "after" : "in",
                          call_at(dir_fd, place.rank, trace_id, place.event - 1, lines));
    groups[words].push_back(place.rank);
  }
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> sorted(groups.begin(), groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  for (const auto& [words, ranks] : sorted)
    fmt::print(stderr, "  {} {:<10} {}\n", ranks.size() == 1 ? "rank " : "ranks", number_ranges(ranks), words);
}

}  // namespace reprise::report
