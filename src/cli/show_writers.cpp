#include "cli/show_writers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <map>

#include "analyze/call_places.hpp"
#include "analyze/unseen_changes.hpp"
#include "analyze/writers.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"
#include "report/json.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::cli {
namespace {

using analyze::CallPlaces;
using analyze::Writing;
using report::Json;

std::string source(const Writing& one, const CallPlaces& places) {
  if (one.written_by)
    return fmt::format("rank {}, call {} {}", *one.writer, *one.written_by, places.text(*one.writer, one.writer_thread, *one.written_by));
  if (one.writer && one.in_set) return fmt::format("rank {}", *one.writer);
  return one.writer ? fmt::format("outside (rank {})", *one.writer) : "outside";
}

Json as_json(const Writing& one, const CallPlaces& places) {
  Json json{{"rank", one.rank}, {"thread", one.thread}, {"call", one.call}, {"at", places.text(one.rank, one.thread, one.call)},
            {"window", one.window}, {"region", one.region}, {"begin", one.begin}, {"bytes", one.size}};
  if (!one.bytes.empty()) json["hex"] = fmt::format("{:02x}", fmt::join(one.bytes, ""));
  json["writer"] = one.writer ? Json(*one.writer) : Json();
  json["in set"] = one.in_set;
  if (one.written_by) {
    json["written by"] = *one.written_by;
    json["written at"] = places.text(*one.writer, one.writer_thread, *one.written_by);
  }
  return json;
}

// How much each has seen of whom.
void print_summary(const std::map<std::uint32_t, std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>>& totals) {
  for (const auto& [rank, sources] : totals) {
    fmt::print("rank {} saw in its memory\n", rank);
    for (const auto& [who, amount] : sources)
      fmt::print("  {:>12} bytes in {} from {}\n", with_thousands(amount.second), counted(amount.first, "piece"), who);
  }
}

}  // namespace

int show_writers(const OpenTrace& trace, const std::vector<std::uint32_t>& readers, std::uint64_t limit, bool json) {
  std::vector<std::uint32_t> set;
  for (const std::uint32_t rank : trace.ranks)
    if (trace::has_log(trace.fd.get(), rank, trace::kDataStream)) set.push_back(rank);
  if (set.empty())
    fail("{} has no values: who wrote what is known of runs that were recorded with --data", printable(trace.path));
  analyze::Writers writers(trace.fd.get(), trace.manifest.trace_id, set);
  std::vector<Writing> shown;
  std::map<std::uint32_t, std::uint64_t> of_rank;
  std::map<std::uint32_t, std::map<std::string, std::pair<std::uint64_t, std::uint64_t>>> totals;
  CallPlaces places;
  const auto read = writers.each([&](const Writing& one) {
    if (std::find(readers.begin(), readers.end(), one.rank) == readers.end()) return;
    const std::string who = !one.writer     ? "outside"
                            : !one.in_set   ? fmt::format("outside (rank {})", *one.writer)
                            : *one.writer == one.rank ? "itself"
                                                      : fmt::format("rank {}", *one.writer);
    auto& [pieces, bytes] = totals[one.rank][who];
    ++pieces;
    bytes += one.size;
    if (++of_rank[one.rank] > limit) return;
    places.want(one.rank, one.thread, one.call);
    if (one.written_by) places.want(*one.writer, one.writer_thread, *one.written_by);
    shown.push_back(one);
  });
  if (!read) fail("{}", read.error().what);
  if (auto found = places.read(trace.fd.get(), trace.manifest.trace_id); !found) fail("{}", found.error().what);
  if (json) {
    Json all = Json::array();
    for (const Writing& one : shown) all.push_back(as_json(one, places));
    fmt::print("{}\n", report::dump(Json{{"trace", trace.path}, {"set", set}, {"seen", all}}));
  } else {
    print_summary(totals);
    for (const Writing& one : shown)
      fmt::print("rank {}, call {} {}: {}{} from {}\n", one.rank, one.call, places.text(one.rank, one.thread, one.call),
                 analyze::name_of_memory(one.window, one.region, one.begin, one.size),
                 one.bytes.empty() || one.bytes.size() > 16 ? "" : fmt::format(" ({:02x})", fmt::join(one.bytes, " ")), source(one, places));
    for (const auto& [rank, count] : of_rank)
      if (count > limit) fmt::print("rank {}: {} more (--limit 0 shows all)\n", rank, with_thousands(count - limit));
    if (shown.empty()) say("nobody wrote to the windows of these ranks, or there are none");
  }
  return std::fflush(stdout) == 0 ? 0 : kTrouble;
}

}  // namespace reprise::cli
