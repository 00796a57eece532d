#include "cli/show_flow.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "analyze/note_fields.hpp"
#include "base/text.hpp"
#include "cli/intention_logs.hpp"
#include "cli/reported_finding.hpp"
#include "cli/speech.hpp"
#include "flow/ways.hpp"
#include "report/flow_words.hpp"

namespace reprise::cli {
namespace {

using flow::Delivery;

constexpr std::size_t kMostDeliveries = 1000;  // of one call

struct Asked {
  std::uint32_t rank = 0;
  std::optional<std::uint64_t> call;
};

Asked read_call(const std::string& text) {
  const auto colon = text.find(':');
  const auto rank = parse_number(text.substr(0, colon));
  const auto call = colon == std::string::npos ? std::nullopt : parse_number(text.substr(colon + 1));
  if (!rank || *rank > UINT32_MAX || (colon != std::string::npos && !call))
    fail("show: --flow takes RANK:CALL, for example 1:12 for the 12th call of rank 1 that communicates (--flow 1 lists them), not \"{}\"", printable(text));
  return {static_cast<std::uint32_t>(*rank), call};
}

struct Found {
  Delivery delivery;
  const flow::LoggedShape* giver = nullptr;
  const flow::LoggedShape* taker = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t followed = 0;
};

std::string call_words(std::uint32_t rank, std::uint64_t call, const flow::LoggedShape& shape, analyze::SourceLines& lines) {
  analyze::NoteFields fields(*shape.place);
  const ReportedPlace place = read_place(static_cast<int>(rank), fields, lines);
  return fmt::format("{}, call {} of rank {} at {}", place.call, call, rank, place.at);
}

void list(const std::vector<Found>& all, std::uint64_t limit) {
  analyze::SourceLines lines;
  std::uint64_t shown = 0;
  for (const Found& one : all) {
    if (shown++ == limit) {
      fmt::print("and {} more (--limit 0 shows all)\n", all.size() - limit);
      break;
    }
    fmt::print("{}:{}  {} -> {}: {}{}\n", one.delivery.to, one.delivery.taken_by, call_words(one.delivery.from, one.delivery.given_by, *one.giver, lines),
               call_words(one.delivery.to, one.delivery.taken_by, *one.taker, lines), counted(one.bytes, "byte"),
               one.followed == one.bytes ? "" : fmt::format(", {} followed", one.followed));
  }
}

// Of the block: a header goes with it, or other messages.
std::uint64_t carried(const flow::Hop& hop, const flow::Journey& journey) {
  std::uint64_t bytes = 0;
  for (const flow::Labelled& one : hop.labels)
    if (journey.is_of_giver(one.label.operation)) bytes += one.bytes;
  return bytes;
}

// What the library has put before them.
std::uint64_t header(const flow::Hop& hop, const flow::Journey& journey) {
  const flow::Labelled* const first = journey.first_label(hop);
  return first ? first->at : 0;
}

std::string amount_words(const flow::Hop& hop, std::uint64_t movements, const flow::Journey& journey) {
  if (movements > 1) return fmt::format("in {} movements", movements);
  const std::uint64_t own = carried(hop, journey);
  return fmt::format("{} at once{}", counted(hop.bytes, "byte"), own < hop.bytes ? fmt::format(", {} of them its own", with_thousands(own)) : "");
}

nlohmann::json site_json(const flow::Hop& hop, analyze::SourceLines& lines) {
  nlohmann::json out{{"rank", hop.rank}, {"movement", report::movement_name(hop.kind)}, {"bytes", hop.bytes}};
  analyze::NoteFields fields(*hop.site);
  if (const analyze::SourceLine* const line = fields.site(lines)) {
    out["module"] = std::string(base_name(line->module));
    out["offset"] = line->offset;
    out["function"] = line->function;
  }
  return out;
}

nlohmann::json as_json(const Found& one, const flow::Journey* journey, analyze::SourceLines& lines) {
  nlohmann::json out{{"from", {{"rank", one.delivery.from}, {"call", one.delivery.given_by}, {"function", one.giver->call()}}},
                     {"to", {{"rank", one.delivery.to}, {"call", one.delivery.taken_by}, {"function", one.taker->call()}}},
                     {"bytes", one.bytes},
                     {"followed", one.followed},
                     {"ways", nlohmann::json::array()}};
  if (!journey) return out;
  for (const flow::Way& way : flow::ways_of(*journey)) {
    nlohmann::json hops = nlohmann::json::array();
    for (std::size_t i = 0; i < way.stages.size(); ++i) {
      nlohmann::json hop = site_json(*way.examples[i], lines);
      hop["carried"] = carried(*way.examples[i], *journey);
      hop["header"] = header(*way.examples[i], *journey);
      hop["movements"] = way.movements[i];
      hop["inferred"] = way.examples[i]->inferred;
      hop["from"] = report::place_words(way.examples[i]->from, *journey);
      hop["to"] = report::place_words(way.examples[i]->to, *journey);
      hops.push_back(std::move(hop));
    }
    out["ways"].push_back({{"bytes", way.bytes}, {"hops", std::move(hops)}});
  }
  return out;
}

void print(const Found& one, const flow::Journey* journey, analyze::SourceLines& lines) {
  fmt::print("{} -> {}: {}\n", call_words(one.delivery.from, one.delivery.given_by, *one.giver, lines),
             call_words(one.delivery.to, one.delivery.taken_by, *one.taker, lines), counted(one.bytes, "byte"));
  if (!journey) {
    fmt::print("  cannot be followed\n");
    return;
  }
  const auto ways = flow::ways_of(*journey);
  for (const flow::Way& way : ways) {
    if (ways.size() > 1) fmt::print("  {}:\n", counted(way.bytes, "byte"));
    if (way.stages.empty()) fmt::print("  stay where they are\n");
    for (std::size_t i = 0; i < way.stages.size(); ++i) {
      const flow::Hop& hop = *way.examples[i];
      fmt::print("  hop {}: rank {}, {}: {}, {}\n", i + 1, way.stages[i].rank, report::stage_words(way.stages[i], lines), report::route_words(hop, *journey),
                 amount_words(hop, way.movements[i], *journey) + (hop.inferred ? ", not seen but inferred from the values" : ""));
    }
  }
  if (one.followed < one.bytes) fmt::print("  {} of {} bytes cannot be followed\n", one.bytes - one.followed, one.bytes);
}

}  // namespace

int show_flow(const OpenTrace& trace, const std::string& call, std::uint64_t limit, bool json) {
  const Asked asked = read_call(call);
  if (asked.rank >= trace.manifest.ranks) fail("show: --flow: there is no rank {} in {}", asked.rank, printable(trace.path));
  std::vector<Found> found;
  std::set<Delivery> wanted;
  IntentionLogs logs = open_intention_logs(trace);
  IntentionLogs logs_again;
  flow::HeldBlocks held;
  const auto keep = [&](const Delivery& one, const flow::TrackedOperation& giver, const flow::TrackedOperation& taker, std::uint64_t bytes, std::uint64_t followed) {
    const bool gives = one.from == asked.rank && (!asked.call || one.given_by == *asked.call);
    const bool takes = one.to == asked.rank && (!asked.call || one.taken_by == *asked.call);
    if (!gives && !takes) return;
    found.push_back({one, giver.shape, taker.shape, bytes, followed});
    if (wanted.size() < kMostDeliveries) wanted.insert(one);
  };
  flow::Tracker tracker(trace.manifest.ranks);
  tracker.tell_deliveries(keep);
  logs.follow(tracker);
  held = tracker.found_held();
  if (!held.empty()) {  // what was packed unseen is known only when it is over
    found.clear();
    wanted.clear();
    flow::Tracker more(trace.manifest.ranks);
    more.tell_deliveries(keep);
    more.know(&held);
    logs_again = open_intention_logs(trace);
    logs_again.follow(more);
  }
  if (!logs.has_movements())
    fail("show: {} has no flows; make such a trace with: reprise check --flows -- COMMAND", printable(trace.path));
  for (const std::string& trouble : logs.troubles) say("{}", printable(trouble));
  if (!asked.call && !json) {
    list(found, limit);
    return 0;
  }
  if (found.empty())
    fail("show: --flow {}: no bytes of such a call were followed; reprise show --flow {} lists those that were", printable(call), asked.rank);
  flow::Tracker again(trace.manifest.ranks);
  flow::Trail trail(wanted);
  again.tell(&trail);
  again.know(&held);
  IntentionLogs second = open_intention_logs(trace);
  second.follow(again);
  analyze::SourceLines lines;
  nlohmann::json out = nlohmann::json::array();
  for (const Found& one : found) {
    const flow::Journey* const journey = trail.find(one.delivery);
    if (json) out.push_back(as_json(one, journey, lines));
    else print(one, journey, lines);
  }
  if (json) fmt::print("{}\n", out.dump(2));
  return 0;
}

}  // namespace reprise::cli
