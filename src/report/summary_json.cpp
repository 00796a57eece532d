// A run in numbers as one JSON object on stdout. docs/show.md documents the keys.
#include <fmt/format.h>

#include "report/json.hpp"
#include "report/summary_view.hpp"

namespace reprise::report {

namespace {

using analyze::Pair;

Json pairs_json(const std::vector<Pair>& pairs) {
  Json list = Json::array();
  for (const Pair& pair : pairs)
    list.push_back(
        {{"from", pair.from}, {"to", pair.to}, {"messages", pair.traffic.messages}, {"bytes", pair.traffic.bytes}});
  return list;
}

Json functions_json(const analyze::RunSummary& summary) {
  Json list = Json::array();
  for (const auto& [name, count] : summary.functions)
    list.push_back({{"function", name},
                    {"calls", count.calls},
                    {"bytes", count.bytes},
                    {"failed_polls", count.failed_polls},
                    {"ranks", count.ranks}});
  return list;
}

Json racing_json(const analyze::RunSummary& summary) {
  Json list = Json::array();
  for (const analyze::RacingSite& site : summary.racing)
    list.push_back({{"function", site.function},
                    {"at", place_json(site.at)},
                    {"varied", site.varied()},
                    {"ranks", site.ranks},
                    {"receives", site.receives},
                    {"unknown_senders", site.unknown},
                    {"senders", site.senders.size()},
                    {"most_senders_of_a_rank", site.most_senders},
                    {"polls", site.polls},
                    {"failed_polls", site.failed_polls},
                    {"completions", site.completions},
                    {"indices", site.indices.size()}});
  return list;
}

Json ranks_json(const analyze::RunSummary& summary) {
  Json list = Json::array();
  for (const analyze::RankSummary& rank : summary.ranks) {
    Json one = rank_json(rank.end);
    one["calls"] = rank.calls;
    one["sent_messages"] = rank.sent.messages;
    one["sent_bytes"] = rank.sent.bytes;
    one["received_messages"] = rank.received.messages;
    one["received_bytes"] = rank.received.bytes;
    if (!rank.trouble.empty()) one["error"] = rank.trouble;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

void print_summary_json(const std::string& path, const trace::Manifest& manifest, const analyze::RunEnd& end,
                        const analyze::RunSummary& summary) {
  Json json = trace_json(path, manifest, end);
  Json events = Json::array();
  for (const auto& [name, count] : summary.events) events.push_back({{"name", name}, {"count", count}});
  const analyze::TrafficMatrix& matrix = summary.matrix;
  Json traffic = {{"complete", matrix.complete}, {"pairs", pairs_json(matrix.pairs)}};
  if (!matrix.complete) {
    traffic["group_size"] = matrix.group_size;
    traffic["group_pairs"] = pairs_json(matrix.group_pairs);
  }
  json["summary"] = {{"calls", summary.calls},
                     {"messages", summary.sent.messages},
                     {"bytes", summary.sent.bytes},
                     {"messages_of_nodes", summary.sent_by_nodes.messages},
                     {"bytes_of_nodes", summary.sent_by_nodes.bytes},
                     {"messages_to_unknown", summary.to_unknown},
                     {"persistent_starts", summary.persistent_starts},
                     {"collective_calls", summary.collective_calls},
                     {"failed_polls", summary.failed_polls},
                     {"clock_reads", summary.clock_reads},
                     {"notes", summary.notes},
                     {"functions", functions_json(summary)},
                     {"racing", racing_json(summary)},
                     {"events", std::move(events)},
                     {"events_left_out", summary.events_left_out},
                     {"matrix", std::move(traffic)},
                     {"ranks", ranks_json(summary)}};
  fmt::print("{}\n", dump(json));
}

}  // namespace reprise::report
