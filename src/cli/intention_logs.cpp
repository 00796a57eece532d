#include "cli/intention_logs.hpp"

#include <algorithm>

namespace reprise::cli {

void IntentionLogs::follow(flow::Tracker& tracker) {
  read([&](const flow::Event& event) { return tracker.is_ready(event); }, [&](std::uint32_t rank, const flow::Event& event) { tracker.add(rank, event); });
}

IntentionLogs open_intention_logs(const OpenTrace& trace) {
  IntentionLogs all;
  all.cut_off.assign(trace.manifest.ranks, false);
  for (std::uint32_t rank = 0; rank < trace.manifest.ranks; ++rank) {
    auto log = flow::IntentionLog::open(trace.fd.get(), trace.manifest.trace_id, rank);
    if (!log) {
      all.troubles.push_back(log.error().what);
      all.cut_off[rank] = true;
      continue;
    }
    all.log_of[rank] = all.logs.size();
    all.logs.push_back(std::move(*log));
  }
  return all;
}

bool IntentionLogs::has_movements() const {
  return std::any_of(logs.begin(), logs.end(), [](const flow::IntentionLog& log) { return log.has_movements(); });
}

void IntentionLogs::read(FunctionRef<bool(const flow::Event&)> is_ready, FunctionRef<void(std::uint32_t, flow::Event)> add) {
  std::vector<flow::LogOfRank> open;
  for (const auto& [rank, number] : log_of) open.push_back({rank, &logs[number]});
  flow::read_merged(open, {is_ready, add, [&](std::uint32_t rank, const Error& error) {
                             troubles.push_back(error.what);
                             cut_off[rank] = true;
                           }});
}

}  // namespace reprise::cli
