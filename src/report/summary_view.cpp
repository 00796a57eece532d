#include "report/summary_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/text.hpp"
#include "report/trace_head.hpp"

namespace reprise::report {

using analyze::Pair;
using analyze::RacingSite;
using analyze::RankSummary;
using analyze::RunSummary;
using analyze::Traffic;
using analyze::TrafficMatrix;

namespace {

constexpr std::size_t kShownFunctions = 12;
constexpr std::size_t kShownSites = 10;
constexpr std::size_t kShownEvents = 8;
constexpr std::size_t kShownRanks = 16;
constexpr std::size_t kShownPairs = 8;
constexpr std::uint32_t kShownMatrix = 8;  // ranks or groups whose full matrix fits into 80 columns
constexpr std::size_t kCell = 8;

void left_out(std::size_t count, std::string_view noun) {
  if (count > 0) fmt::print("  and {} (--json has all)\n", counted(count, fmt::format("more {}", noun)));
}

std::string traffic_words(const Traffic& traffic) {
  return counted(traffic.messages, "message") + ", " + human_bytes(traffic.bytes);
}

void print_totals(const RunSummary& summary, bool filtered) {
  fmt::print("  {}  {}", filtered ? "matching" : "calls   ", counted(summary.calls, "call"));
  if (summary.collective_calls > 0) fmt::print(", {} of them collective", with_thousands(summary.collective_calls));
  if (summary.failed_polls > 0) fmt::print("; {}", counted(summary.failed_polls, "failed poll"));
  if (summary.clock_reads > 0) fmt::print("; {}", counted(summary.clock_reads, "clock read"));
  const bool nodes = summary.sent_by_nodes.messages > 0;
  const Traffic& sent = nodes ? summary.sent_by_nodes : summary.sent;
  fmt::print("\n  messages  {} sent {}, {}", with_thousands(sent.messages), nodes ? "by nodes" : "point to point", human_bytes(sent.bytes));
  if (summary.to_unknown > 0)
    fmt::print("; {} to receivers that the logs do not tell", with_thousands(summary.to_unknown));
  if (summary.persistent_starts > 0)
    fmt::print("; not counted: those of {} of persistent requests", counted(summary.persistent_starts, "start"));
  fmt::print("\n");
  if (summary.notes > 0) fmt::print("  notes     {} (reprise show --calls has them)\n", with_thousands(summary.notes));
}

void print_functions(const Paint& paint, const RunSummary& summary) {
  std::vector<std::pair<std::string, analyze::FunctionCount>> list(summary.functions.begin(), summary.functions.end());
  if (list.empty()) return;
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.second.calls > b.second.calls; });
  fmt::print("\n{}{}\n", paint.bold("calls"),
             paint.dim(fmt::format("{:>33} {:>10} {:>8} {:>14}", "count", "bytes", "ranks", "failed polls")));
  for (std::size_t i = 0; i < std::min(list.size(), kShownFunctions); ++i) {
    const auto& [name, count] = list[i];
    fmt::print("  {} {:>11} {:>10} {:>8}", padded(printable(name), 24), with_thousands(count.calls),
               count.bytes > 0 ? human_bytes(count.bytes) : "", count.ranks);
    if (count.failed_polls > 0) fmt::print(" {:>14}", with_thousands(count.failed_polls));
    fmt::print("\n");
  }
  left_out(list.size() - std::min(list.size(), kShownFunctions), "function");
}

std::string racing_words(const RacingSite& site) {
  std::string words;
  const auto add = [&](const std::string& part) { words += (words.empty() ? "" : "; ") + part; };
  if (site.receives > 0) {
    std::string part = counted(site.receives, "receive") + " from " + counted(site.senders.size(), "sender");
    if (site.unknown > 0) part += fmt::format(" ({} unknown)", with_thousands(site.unknown));
    add(part);
  }
  if (site.polls > 0) add(fmt::format("{} series of tests, {} failed", with_thousands(site.polls), with_thousands(site.failed_polls)));
  if (site.completions > 0)
    add(counted(site.completions, "completion") + fmt::format(" of {} indices", site.indices.size()));
  return words;
}

void print_racing(const Paint& paint, const RunSummary& summary) {
  const auto& sites = summary.racing;
  if (sites.empty()) return;
  const auto varied = static_cast<std::size_t>(
      std::count_if(sites.begin(), sites.end(), [](const RacingSite& site) { return site.varied(); }));
  fmt::print("\n{}{}\n", paint.bold("racing"), paint.dim("  lines whose outcome could have been another one"));
  const std::size_t shown = std::min(varied, kShownSites);
  for (std::size_t i = 0; i < shown; ++i) {
    const RacingSite& site = sites[i];
    fmt::print("  {} {} {}  {}\n", padded(printable(site.function), 14), padded(site.at.text(), 28),
               padded(counted(site.ranks, "rank"), 8, true), racing_words(site));
  }
  left_out(varied - shown, "line");
  if (varied < sites.size())
    fmt::print("  {} had one outcome only (one sender, no failed test, one index)\n",
               counted(sites.size() - varied, varied > 0 ? "other such line" : "such line"));
}

void print_events(const Paint& paint, const RunSummary& summary) {
  if (summary.events.empty()) return;
  std::vector<std::pair<std::string, std::uint64_t>> list(summary.events.begin(), summary.events.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  fmt::print("\n{}\n", paint.bold("named events"));
  for (std::size_t i = 0; i < std::min(list.size(), kShownEvents); ++i)
    fmt::print("  {:>11}  {}\n", with_thousands(list[i].second), printable(list[i].first));
  left_out(list.size() - std::min(list.size(), kShownEvents), "name");
}

// Fits into a cell.
std::string short_count(std::uint64_t number) {
  if (number < 1'000'000) return with_thousands(number);
  const double millions = static_cast<double>(number) / 1e6;
  return millions < 1e5 ? fmt::format("{:.1f} M", millions) : fmt::format("{:.1e}", static_cast<double>(number));
}

// Messages, sender by receiver, of `count` ranks or groups.
void print_square(const std::vector<Pair>& pairs, std::uint32_t count, std::uint32_t group_size, std::uint32_t world) {
  const auto name = [&](std::uint32_t i) {
    if (group_size == 1) return std::to_string(i);
    return fmt::format("{}-{}", i * group_size, std::min(world, (i + 1) * group_size) - 1);
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint64_t> cells;
  for (const Pair& pair : pairs) cells[{pair.from, pair.to}] = pair.traffic.messages;
  fmt::print("  {:>11}", "from \\ to");
  for (std::uint32_t to = 0; to < count; ++to) fmt::print(" {:>{}}", name(to), kCell);
  fmt::print("\n");
  for (std::uint32_t from = 0; from < count; ++from) {
    fmt::print("  {:>11}", name(from));
    for (std::uint32_t to = 0; to < count; ++to) {
      const auto cell = cells.find({from, to});
      fmt::print(" {:>{}}", cell == cells.end() ? "." : short_count(cell->second), kCell);
    }
    fmt::print("\n");
  }
}

void print_matrix(const Paint& paint, const RunSummary& summary, std::uint32_t world) {
  const TrafficMatrix& matrix = summary.matrix;
  if (matrix.pairs.empty()) return;
  fmt::print("\n{}{}\n", paint.bold("messages"), paint.dim("  point to point, by world rank"));
  if (world <= kShownMatrix) {
    print_square(matrix.pairs, world, 1, world);
    return;
  }
  // Twice as coarse as what is kept, so that it fits into 80 columns.
  const std::uint32_t size = matrix.complete ? (world + kShownMatrix - 1) / kShownMatrix : 2 * matrix.group_size;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Traffic> coarse;
  for (const Pair& pair : matrix.complete ? matrix.pairs : matrix.group_pairs)
    coarse[{pair.from * matrix.group_size / size, pair.to * matrix.group_size / size}].add(pair.traffic);
  std::vector<Pair> pairs;
  for (const auto& [place, traffic] : coarse) pairs.push_back({place.first, place.second, traffic});
  print_square(pairs, (world + size - 1) / size, size, world);
  std::vector<Pair> top = matrix.pairs;
  std::stable_sort(top.begin(), top.end(), [](const Pair& a, const Pair& b) {
    return std::pair(a.traffic.bytes, a.traffic.messages) > std::pair(b.traffic.bytes, b.traffic.messages);
  });
  for (std::size_t i = 0; i < std::min(top.size(), kShownPairs); ++i)
    fmt::print("  {:>11} -> {:<8} {}\n", top[i].from, top[i].to, traffic_words(top[i].traffic));
  if (top.size() > kShownPairs || !matrix.complete) fmt::print("  the largest pairs by bytes; --json has more\n");
}

void print_extremes(const RunSummary& summary, std::string_view what, std::uint64_t (*value)(const RankSummary&)) {
  const auto less = [&](const RankSummary& a, const RankSummary& b) { return value(a) < value(b); };
  const auto [least, most] = std::minmax_element(summary.ranks.begin(), summary.ranks.end(), less);
  fmt::print("  {:<18} {:>11} (rank {}) to {} (rank {})\n", what, with_thousands(value(*least)), least->end.rank,
             with_thousands(value(*most)), most->end.rank);
}

void print_ranks(const Paint& paint, const RunSummary& summary) {
  if (summary.ranks.empty()) return;
  fmt::print("\n{}\n", paint.bold("ranks"));
  if (summary.ranks.size() > kShownRanks) {
    print_extremes(summary, "calls", [](const RankSummary& rank) { return rank.calls; });
    print_extremes(summary, "messages sent", [](const RankSummary& rank) { return rank.sent.messages; });
    print_extremes(summary, "messages received", [](const RankSummary& rank) { return rank.received.messages; });
    std::map<std::string, std::vector<std::uint32_t>> ends;
    for (const RankSummary& rank : summary.ranks) ends[rank_end_words(rank.end)].push_back(rank.end.rank);
    std::size_t shown = 0;
    for (const auto& [words, ranks] : ends)
      if (++shown <= kShownEvents) fmt::print("  {:<18} {}\n", words, some_ranks(ranks));
  } else {
    fmt::print("{}\n", paint.dim(fmt::format("  {:>4} {:>11} {:>11} {:>9} {:>11} {:>9}  {}", "rank", "calls", "sent",
                                             "bytes", "received", "bytes", "ended")));
    for (const RankSummary& rank : summary.ranks)
      fmt::print("  {:>4} {:>11} {:>11} {:>9} {:>11} {:>9}  {}\n", rank.end.rank, with_thousands(rank.calls),
                 with_thousands(rank.sent.messages), human_bytes(rank.sent.bytes),
                 with_thousands(rank.received.messages), human_bytes(rank.received.bytes),
                 rank.trouble.empty() ? rank_end_words(rank.end) : "not readable");
  }
  std::size_t troubled = 0;
  for (const RankSummary& rank : summary.ranks) {
    if (rank.trouble.empty() || ++troubled > kShownRanks) continue;
    fmt::print("  {} {}\n", paint.bad(fmt::format("rank {}: the log is not readable further:", rank.end.rank)),
               printable(rank.trouble));
  }
  left_out(troubled - std::min(troubled, kShownRanks), "such rank");
}

}  // namespace

void print_summary(const Paint& paint, const std::string& path, const trace::Manifest& manifest,
                   const analyze::RunEnd& end, const RunSummary& summary, bool filtered) {
  const std::uint32_t world = std::max(end.world, manifest.ranks);
  print_trace_head(paint, path, manifest, end);
  print_totals(summary, filtered);
  print_functions(paint, summary);
  print_racing(paint, summary);
  print_events(paint, summary);
  print_matrix(paint, summary, world);
  print_ranks(paint, summary);
}

}  // namespace reprise::report
