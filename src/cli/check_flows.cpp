#include "cli/check_flows.hpp"

#include <fmt/format.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "analyze/note_fields.hpp"
#include "base/text.hpp"
#include "cli/intention_logs.hpp"
#include "flow/alternatives.hpp"
#include "report/flow_words.hpp"

namespace reprise::cli {
namespace {

using flow::Blame;
using flow::Delivery;
using flow::Violation;

constexpr std::size_t kMostFlows = 100;  // that are looked into

std::optional<Delivery> delivery_of(const Violation& violation) {
  // Perhaps it was the library that changed the send buffer, and not the program.
  const bool may_be_excused = violation.excuse == flow::kProgramChangedSent;
  if (violation.kind != Violation::Kind::Bytes || violation.path.size() != 2 || (!violation.excuse.empty() && !may_be_excused)) return std::nullopt;
  const flow::Part& first = violation.path.front();
  const flow::Part& last = violation.path.back();
  if (violation.given >= first.shape->gives.size() || violation.taken >= last.shape->takes.size()) return std::nullopt;
  return Delivery{first.rank, first.call, violation.given, last.rank, last.call, violation.taken};
}

std::optional<flow::StrayWrite> stray_write_of(const Violation& violation) {
  if (!violation.written || violation.path.size() != 1) return std::nullopt;
  return flow::StrayWrite{violation.path[0].rank, violation.path[0].call, violation.taken, *violation.written};
}

FlowFinding::Site site_of(const flow::Stage& stage, analyze::SourceLines& lines) {
  analyze::NoteFields fields(*stage.site);
  const analyze::SourceLine* const line = fields.site(lines);
  return line ? FlowFinding::Site{line->function, std::string(base_name(line->module)), line->offset} : FlowFinding::Site();
}

void name(FlowFinding& finding, const flow::Stage& stage, analyze::SourceLines& lines) {
  finding.rank = stage.rank;
  finding.movement = report::movement_name(stage.kind);
  finding.site = site_of(stage, lines);
}

// How far the bytes went that did not arrive, if nobody knows the way of any that did.
FlowFinding lost(const flow::Journey& journey, analyze::SourceLines& lines) {
  FlowFinding finding;
  finding.verdict = "unknown";
  const flow::Hop* last = nullptr;
  for (const flow::Hop& hop : journey.hops())
    for (const flow::Labelled& one : hop.labels)
      if (journey.is_of_giver(one.label.operation)) last = &hop;
  finding.words.push_back(last ? fmt::format("the flow cannot be followed; last seen: {}, rank {}: {}",
                                             report::stage_words({last->rank, last->kind, last->site}, lines), last->rank, report::route_words(*last, journey))
                               : std::string("the flow cannot be followed: nobody was seen to move these bytes"));
  return finding;
}

const char* verdict_of(Blame::Kind kind) {
  return kind == Blame::Kind::NotMoved || kind == Blame::Kind::Reversed || kind == Blame::Kind::Overwritten ? "broken" : "misdirected";
}

FlowFinding explain(const flow::Journey& journey, const Blame& blame, const std::vector<flow::Stage>& or_else, analyze::SourceLines& lines) {
  if (blame.kind == Blame::Kind::Unknown) return lost(journey, lines);
  FlowFinding finding;
  finding.verdict = verdict_of(blame.kind);
  finding.changes_sent = blame.kind == Blame::Kind::Reversed && blame.hop == 1;
  finding.hop = blame.hop;
  const bool by_another = blame.kind == Blame::Kind::Overwritten && blame.movement;
  const flow::Stage stage = by_another ? flow::stage_of_hop(*blame.movement) : blame.stage;
  name(finding, stage, lines);
  finding.words.push_back(fmt::format("the flow breaks at: {}, rank {}, hop {} of {}", report::stage_words(stage, lines), stage.rank, blame.hop, blame.of));
  finding.words.push_back("  " + report::blame_words(blame));
  for (const flow::Stage& other : or_else) {
    finding.or_else.push_back(site_of(other, lines));
    finding.words.push_back(fmt::format("  or at: {}, where such bytes are taken at other times", report::stage_words(other, lines)));
  }
  for (std::size_t i = 0; i < blame.way.size(); ++i) {
    finding.way.push_back(report::stage_words(blame.way[i], lines));
    finding.words.push_back(fmt::format("  hop {}: rank {}, {}{}", i + 1, blame.way[i].rank, finding.way.back(), i + 1 == blame.hop ? "   <- here" : ""));
  }
  if (blame.related)
    finding.words.push_back(fmt::format("  the way is that of call {} of rank {}, whose bytes arrived in call {} of rank {}", blame.related->delivery().given_by,
                                        blame.related->delivery().from, blame.related->delivery().taken_by, blame.related->delivery().to));
  else
    finding.words.push_back(fmt::format("  the way is that of other bytes of the same block; {} of {} arrived", blame.arrived, journey.bytes()));
  return finding;
}

// Reads the logs.
void follow(flow::Trail& trail, const OpenTrace& trace, IntentionLogs& logs, const FlowSums& sums) {
  flow::Tracker tracker(trace.manifest.ranks);
  tracker.tell(&trail);
  tracker.know(&sums.held);
  logs.follow(tracker);
}

// By number of the violation. What its ranks have taken in other calls is read for that, once more, and only then: what else was moved
// at the same places would be in the way of finding out whom to blame.
template <class JourneyOf>
std::map<std::size_t, std::vector<flow::Stage>> find_alternatives(const std::map<std::size_t, Blame>& blames, JourneyOf journey_of, const OpenTrace& trace,
                                                                  IntentionLogs& logs, const FlowSums& sums) {
  std::set<Delivery> watched;
  std::vector<std::size_t> numbers;
  for (const auto& [number, blame] : blames) {
    if (!flow::has_alternatives(blame, journey_of(number))) continue;
    numbers.push_back(number);
    const auto others = sums.related.taken_by(blame.stage.rank, journey_of(number).bytes());
    watched.insert(others.begin(), others.end());
  }
  std::map<std::size_t, std::vector<flow::Stage>> found;
  if (watched.empty()) return found;
  flow::Trail trail(watched);
  logs = open_intention_logs(trace);
  follow(trail, trace, logs, sums);
  for (const std::size_t number : numbers) found[number] = flow::alternatives(blames.at(number), trail.hops());
  return found;
}

}  // namespace

flow::FollowedBytes FlowSums::all() const {
  flow::FollowedBytes sum;
  for (const auto& [call, one] : followed) {
    sum.blocks += one.blocks;
    sum.bytes += one.bytes;
    sum.followed += one.followed;
    sum.inferred += one.inferred;
  }
  return sum;
}

void FlowFinding::Site::add_to(nlohmann::json& out) const {
  out["function"] = function;
  out["module"] = module;
  out["offset"] = offset;
}

nlohmann::json FlowFinding::as_json() const {
  nlohmann::json out{{"verdict", verdict}, {"words", words}};
  if (hop > 0) {
    out["rank"] = rank;
    out["hop"] = hop;
    out["movement"] = movement;
    site.add_to(out);
    out["or"] = nlohmann::json::array();
    for (const Site& one : or_else) one.add_to(out["or"].emplace_back());
    out["way"] = way;
  }
  return out;
}

std::map<std::size_t, FlowFinding> find_flows(const OpenTrace& trace, flow::Verdict& verdict, const FlowSums& sums) {
  std::map<std::size_t, FlowFinding> all;
  std::map<std::size_t, std::pair<Delivery, std::vector<Delivery>>> wanted;
  std::set<Delivery> watched;
  std::map<std::size_t, flow::StrayWrite> written;
  std::set<flow::StrayWrite> bytes_written;
  for (std::size_t i = 0; i < verdict.violations.size() && wanted.size() < kMostFlows; ++i) {
    const Violation& violation = verdict.violations[i];
    if (const auto one = stray_write_of(violation)) {
      written[i] = *one;
      bytes_written.insert(*one);
    }
    const auto delivery = delivery_of(violation);
    if (!delivery) continue;
    const flow::LoggedShape& giver = *violation.path.front().shape;
    const flow::LoggedShape& taker = *violation.path.back().shape;
    const std::uint64_t bytes = std::min(giver.gives[delivery->given].bytes(), taker.takes[delivery->taken].bytes());
    const auto related = sums.related.like(*delivery, giver, taker, bytes);
    wanted[i] = {*delivery, related};
    watched.insert(*delivery);
    watched.insert(related.begin(), related.end());
  }
  if (wanted.empty() && written.empty()) return all;
  flow::Trail trail(watched, bytes_written);
  IntentionLogs logs = open_intention_logs(trace);
  follow(trail, trace, logs, sums);
  analyze::SourceLines lines;
  std::map<std::size_t, Blame> blames;
  for (const auto& [number, pair] : wanted) {
    const flow::Journey* const journey = trail.find(pair.first);
    if (!journey) continue;
    std::vector<const flow::Journey*> related;
    for (const Delivery& one : pair.second)
      if (const flow::Journey* const other = trail.find(one)) related.push_back(other);
    blames[number] = flow::find_blame(*journey, related);
  }
  IntentionLogs logs_again;  // what is found points into them
  const auto journey_of = [&](std::size_t number) -> const flow::Journey& { return *trail.find(wanted[number].first); };
  const auto or_else = find_alternatives(blames, journey_of, trace, logs_again, sums);
  for (const auto& [number, blame] : blames) {
    const auto better = std::find_if(blames.begin(), blames.end(), [&one = blame](const auto& other) { return flow::is_explained_by(one, other.second); });
    const std::size_t told = better == blames.end() ? number : better->first;
    const Delivery& delivery = wanted[told].first;
    FlowFinding finding = explain(*trail.find(delivery), blames[told], or_else.contains(told) ? or_else.at(told) : std::vector<flow::Stage>(), lines);
    if (told != number) finding.words.push_back(fmt::format("  this is the block from rank {} to rank {}, and explains the other one", delivery.from, delivery.to));
    std::string& excuse = verdict.violations[number].excuse;
    if (!excuse.empty() && !finding.changes_sent) continue;
    excuse.clear();
    all[number] = std::move(finding);
  }
  for (const auto& [number, one] : written) {
    const flow::Hop* const hop = trail.writer_of(one);
    if (!hop) continue;
    FlowFinding& finding = all[number];
    const flow::Stage stage = flow::stage_of_hop(*hop);
    finding.verdict = "misdirected";
    finding.hop = 1;
    name(finding, stage, lines);
    finding.way.push_back(report::stage_words(stage, lines));
    finding.words.push_back(fmt::format("written by: {}, rank {}, {} at once", finding.way.back(), stage.rank, counted(hop->bytes, "byte")));
  }
  return all;
}

std::vector<std::string> summary_of(const FlowSums& sums) {
  std::vector<std::string> lines;
  if (!sums.any) return lines;
  const flow::FollowedBytes all = sums.all();
  const double share = all.bytes == 0 ? 1 : static_cast<double>(all.followed) / static_cast<double>(all.bytes);
  const std::string inferred = all.inferred == 0 ? "" : fmt::format(" ({} of it inferred from values)", human_bytes(all.inferred));
  lines.push_back(fmt::format("flows: {:.4g} % of {} were followed from buffer to buffer{}, in {}", share * 100, human_bytes(all.bytes), inferred,
                              counted(sums.movements, "movement")));
  for (const auto& [call, one] : sums.followed)
    if (one.followed < one.bytes) lines.push_back(fmt::format("flows: {} of {} that came with {} were not followed", human_bytes(one.bytes - one.followed), human_bytes(one.bytes), call));
  for (const auto& [why, count] : sums.lost) lines.push_back(fmt::format("flows: not followed: {} ({})", why, count));
  return lines;
}

nlohmann::json as_json(const FlowSums& sums) {
  const flow::FollowedBytes all = sums.all();
  nlohmann::json out{{"movements", sums.movements}, {"bytes", all.bytes}, {"followed", all.followed}, {"inferred", all.inferred}, {"calls", nlohmann::json::object()}, {"lost", nlohmann::json::object()}};
  for (const auto& [call, one] : sums.followed) out["calls"][call] = {{"blocks", one.blocks}, {"bytes", one.bytes}, {"followed", one.followed}, {"inferred", one.inferred}};
  for (const auto& [why, count] : sums.lost) out["lost"][why] = count;
  return out;
}

}  // namespace reprise::cli
