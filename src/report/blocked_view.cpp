#include "report/blocked_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"
#include "report/call_words.hpp"
#include "report/deadlock_view.hpp"
#include "report/trace_head.hpp"

namespace reprise::report {

using analyze::Blocked;
using analyze::PlacedCall;
using analyze::Position;
using analyze::PositionGroup;
using analyze::RankPlace;

namespace {

constexpr std::size_t kShownGroups = 12;
constexpr std::size_t kShownCircles = 3;
constexpr std::size_t kShownLinks = 8;

// An argument of all ranks of a group; "various" if they differ.
template <class Words>
std::string common(const PositionGroup& group, engine::Argument argument, Words words) {
  const std::int64_t first = group.ranks.front().call->arguments[argument];
  const bool same = std::all_of(group.ranks.begin(), group.ranks.end(),
                                [&](const Position& one) { return one.call->arguments[argument] == first; });
  return same ? words(first) : "various";
}

std::string call_words(const PositionGroup& group) {
  const PlacedCall& call = *group.ranks.front().call;
  if (!call.event.empty()) return fmt::format("{}(\"{}\")", printable(call.function), printable(call.event));
  std::string words = printable(call.function);
  const ShownArguments shown = shown_arguments(call.kind, call.arguments);
  if (shown.peer) words += " peer " + common(group, engine::kPeer, peer_words);
  if (shown.tag) words += " tag " + common(group, engine::kTag, tag_words);
  if (shown.bytes && call.kind.moves_bytes)
    words += ", " + common(group, engine::kBytes, [](std::int64_t bytes) { return std::to_string(bytes); }) + " bytes";
  if (shown.communicator) words += ", on " + common(group, engine::kComm, communicator_words);
  return words;
}

std::string place_words(const PositionGroup& group) {
  const Position& first = group.ranks.front();
  switch (first.place) {
    case RankPlace::NotStarted: return first.call || !first.ended.empty() ? "made no call" : "not out of MPI_Init";
    case RankPlace::Unreadable: return "the log is not readable: " + printable(first.trouble);
    case RankPlace::Ended: return "ended: " + first.ended;
    case RankPlace::Computing: return "computing, after " + call_words(group);
    case RankPlace::Polling: return "polling: " + call_words(group);
    case RankPlace::InCall: return "in " + call_words(group);
  }
  return "";
}

std::string calls_words(const PositionGroup& group) {
  const auto less = [](const Position& a, const Position& b) { return a.call->number < b.call->number; };
  const auto [least, most] = std::minmax_element(group.ranks.begin(), group.ranks.end(), less);
  if (least->call->number == most->call->number) return "call " + with_thousands(least->call->number);
  return fmt::format("calls {} to {}", with_thousands(least->call->number), with_thousands(most->call->number));
}

// "0 waits for 1, 1 for 2, ...", or one name if all wait for the same rank.
std::string waiting_words(const PositionGroup& group) {
  if (!group.missing.empty()) return "waiting for " + some_ranks(group.missing);
  std::set<std::uint32_t> awaited;
  std::string links;
  std::size_t count = 0;
  for (const Position& position : group.ranks) {
    if (!position.waits_for) continue;
    awaited.insert(*position.waits_for);
    if (++count <= kShownLinks)
      links += fmt::format("{}{}->{}", links.empty() ? "" : ", ", position.rank, *position.waits_for);
  }
  if (awaited.empty()) return "";
  if (awaited.size() == 1) return fmt::format("waiting for {}", *awaited.begin());
  return "waiting: " + links + (count > kShownLinks ? fmt::format(", ... ({} in all)", count) : "");
}

void print_group(const Paint& paint, const PositionGroup& group) {
  const Position& first = group.ranks.front();
  std::vector<std::uint32_t> ranks;
  for (const Position& position : group.ranks) ranks.push_back(position.rank);
  std::string head = place_words(group);
  fmt::print("\n{}  {}\n", paint.bold(padded((ranks.size() == 1 ? "rank " : "ranks ") + some_ranks(ranks, 40), 12)),
             head);
  const auto detail = [](const std::string& text) { fmt::print("{:>14}{}\n", "", text); };
  if (!first.call) return;
  detail(paint.dim("at " + first.call->at.text()) + "; " + calls_words(group));
  if (first.place == RankPlace::Polling)
    detail(counted(first.failed_polls, "failed test") +
           (ranks.size() > 1 ? fmt::format(" (rank {})", first.rank) : ""));
  if (const std::string waiting = waiting_words(group); !waiting.empty()) detail(waiting);
  if (first.posted) {
    PositionGroup posted;  // the first rank's stands for all
    posted.ranks.push_back(first);
    posted.ranks.front().call = first.posted;
    detail(fmt::format("posted last{}: {} at {}", ranks.size() > 1 ? fmt::format(" (rank {})", first.rank) : "",
                       call_words(posted), first.posted->at.text()));
  }
  if (first.moved) detail("went on while it was watched");
  if (!first.ended.empty() && first.place != RankPlace::Ended) detail("ended: " + first.ended);
}

}  // namespace

void print_blocked(const Paint& paint, const std::string& path, const trace::Manifest& manifest,
                   const analyze::RunEnd& end, const Blocked& blocked, double watched) {
  print_trace_head(paint, path, manifest, end);
  if (watched > 0) {
    bool moved = false;
    for (const PositionGroup& group : blocked.groups) moved |= group.ranks.front().moved;
    fmt::print("  watched   for {:.1f} s: {}\n", watched, moved ? "some ranks went on" : "no rank went on");
  }
  for (std::size_t i = 0; i < std::min(blocked.circles.size(), kShownCircles); ++i) {
    const auto& circle = blocked.circles[i];
    std::string words;
    for (std::size_t k = 0; k < std::min(circle.size(), kShownLinks); ++k) words += fmt::format("{} -> ", circle[k]);
    if (circle.size() > kShownLinks) words += fmt::format("... ({} ranks) -> ", circle.size());
    fmt::print("  {}    {}{} wait for each other\n", paint.bad("circle"), words, circle.front());
  }
  for (const analyze::ThreadDeadlock& deadlock : blocked.deadlocks) {
    fmt::print("\n");
    for (const std::string& line : deadlock_lines(deadlock)) fmt::print("  {}\n", line);
  }
  for (std::size_t i = 0; i < std::min(blocked.groups.size(), kShownGroups); ++i) print_group(paint, blocked.groups[i]);
  if (blocked.groups.size() > kShownGroups)
    fmt::print("\nand {} (--json has all)\n", counted(blocked.groups.size() - kShownGroups, "more place"));
}

}  // namespace reprise::report
