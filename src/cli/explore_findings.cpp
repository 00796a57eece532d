#include "cli/explore_findings.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "cli/launch.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

using engine::category_name;
using explore::Buffering;
using explore::Category;
using explore::Place;
using explore::Problem;

std::vector<std::uint32_t> options_of(const explore::RunResult& result) {
  std::vector<std::uint32_t> options;
  for (const explore::Step& step : result.steps) options.push_back(step.option);
  return options;
}

// The same places in the same state are the same thing.
void Findings::add(const explore::RunResult& result, Buffering buffering, std::uint64_t order) {
  for (const Problem& problem : result.problems) {
    const auto same = std::find_if(all_.begin(), all_.end(), [&](const Finding& known) {
      return known.problem.category == problem.category && known.problem.number == problem.number &&
             std::equal(known.problem.places.begin(), known.problem.places.end(), problem.places.begin(),
                        problem.places.end(), [](const Place& one, const Place& other) {
                          return one.rank == other.rank && one.thread == other.thread && one.site == other.site &&
                                 one.function == other.function;
                        });
    });
    if (same != all_.end()) {
      ++same->count;
      if (!problem.needs_unbuffered) same->problem.needs_unbuffered = false;
      continue;
    }
    all_.push_back({problem, buffering, order, 1, options_of(result), {}});
  }
}

const analyze::SourceLine& PlaceNamer::source(std::uint64_t site) {
  static const analyze::SourceLine unknown;
  const auto found = addresses_.find(site);
  return found ? lines_.find(found->first, "", found->second) : unknown;
}

std::string PlaceNamer::line(std::uint64_t site) {
  if (site == 0) return "";
  const analyze::SourceLine& found = source(site);
  return found.module.empty() ? fmt::format("{:#x}", site) : found.text();
}

std::string PlaceNamer::function(std::uint32_t number) const {
  return number < virtual_world::kMostFunctions ? stage_->functions[number] : "";
}

std::string PlaceNamer::detail(const Place& place) {
  return place.holder == 0 ? place.detail : fmt::format("{} since {}", place.detail, line(place.holder));
}

namespace {

// "rank 1, thread 2" where threads matter.
std::string who(const std::vector<const Place*>& places, bool with_threads) {
  if (with_threads && places.size() == 1) return fmt::format("rank {}, thread {}", places[0]->rank, places[0]->thread);
  std::vector<std::uint32_t> ranks;
  for (const Place* const place : places) ranks.push_back(static_cast<std::uint32_t>(place->rank));
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  const bool same_thread =
      std::all_of(places.begin(), places.end(), [&](const Place* place) { return place->thread == places[0]->thread; });
  return (ranks.size() == 1 ? "rank " : "ranks ") + number_ranges(ranks) +
         (!with_threads ? ""
          : same_thread ? fmt::format(", thread {}", places[0]->thread)
                        : ", threads");
}

void print_places(const Problem& problem, PlaceNamer& namer) {
  const bool with_threads =
      std::any_of(problem.places.begin(), problem.places.end(), [](const Place& place) { return place.thread > 0; });
  // Ranks at one place together, the odd ones first.
  std::map<std::pair<std::string, std::string>, std::vector<const Place*>> groups;
  for (const Place& place : problem.places)
    groups[{namer.line(place.site), place.site != 0 ? namer.function(place.function) : ""}].push_back(&place);
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<const Place*>>> sorted(groups.begin(),
                                                                                                groups.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& one, const auto& other) { return one.second.size() < other.second.size(); });
  // What was the last that the program did in MPI is not where it ended.
  const bool before = problem.category == Category::Crash || problem.category == Category::Assertion ||
                      problem.category == Category::Failure || problem.category == Category::NoFinalize ||
                      problem.category == Category::Stalled;
  for (const auto& [where, places] : sorted) {
    std::map<std::string, std::vector<const Place*>> by_detail;
    for (const Place* place : places) by_detail[namer.detail(*place)].push_back(place);
    const bool alone = places.size() == 1 && problem.places.size() > 2 && sorted.size() > 1;
    for (const auto& [detail, here] : by_detail) {
      fmt::print("  {:<{}} {}{}  {}{}{}\n", who(here, with_threads), with_threads ? 18 : 10,
                 before && !where.first.empty() ? "after " : "", where.first, where.second,
                 detail.empty() ? "" : " " + detail, alone ? "    <- alone here" : "");
    }
  }
}

}  // namespace

void Findings::print(std::uint64_t orders, double seconds, PlaceNamer& namer) const {
  for (const Finding& finding : all_) {
    std::string title = category_name(finding.problem.category);
    std::transform(title.begin(), title.end(), title.begin(), [](unsigned char c) { return std::toupper(c); });
    fmt::print("[{}, {:.1f} s] {} in order {}{}{}\n", counted(orders, "order"), seconds, title, finding.order,
               finding.problem.words.empty() ? "" : ": " + finding.problem.words,
               finding.count > 1 ? fmt::format(" (and {} more)", finding.count - 1) : "");
    if (finding.problem.needs_unbuffered && finding.problem.category == Category::Deadlock)
      fmt::print("  unsafe: deadlocks when sends are not buffered\n");
    print_places(finding.problem, namer);
    std::fflush(stdout);
    if (!finding.saved.empty()) say("saved {0}; next: reprise replay {0}", printable(shell_words({finding.saved})));
  }
}

std::vector<ReportedFinding> Findings::reported(PlaceNamer& namer) const {
  std::vector<ReportedFinding> all;
  for (const Finding& finding : all_) {
    ReportedFinding one{finding.problem.category, finding.problem.words, {}, finding.order, finding.saved};
    for (const Place& place : finding.problem.places) {
      const analyze::SourceLine& source = namer.source(place.site);
      one.places.push_back({place.rank, place.thread, place.site != 0 ? namer.function(place.function) : "",
                            namer.line(place.site), source.file, source.line, namer.detail(place)});
    }
    all.push_back(std::move(one));
  }
  return all;
}

nlohmann::json Findings::json(PlaceNamer& namer) const {
  nlohmann::json out = nlohmann::json::array();
  for (const Finding& finding : all_) {
    nlohmann::json entry{{"category", category_name(finding.problem.category)},
                         {"order", finding.order},
                         {"count", finding.count},
                         {"buffering", finding.buffering == Buffering::None    ? "none"
                                       : finding.buffering == Buffering::Mixed ? "mixed"
                                                                               : "infinite"},
                         {"unsafe", finding.problem.needs_unbuffered},
                         {"options", finding.options}};
    if (!finding.problem.words.empty()) entry["what"] = finding.problem.words;
    if (!finding.saved.empty()) entry["saved"] = finding.saved;
    entry["ranks"] = nlohmann::json::array();
    entry["calls"] = nlohmann::json::array();
    for (const Place& place : finding.problem.places) {
      if (entry["ranks"].empty() || entry["ranks"].back() != place.rank) entry["ranks"].push_back(place.rank);
      entry["calls"].push_back({{"rank", place.rank},
                                {"thread", place.thread},
                                {"call", place.site != 0 ? namer.function(place.function) : ""},
                                {"at", namer.line(place.site)},
                                {"detail", namer.detail(place)}});
    }
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace reprise::cli
