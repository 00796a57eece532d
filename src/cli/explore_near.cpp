#include "cli/explore_near.hpp"

#include "analyze/timeline.hpp"
#include "analyze/world_ranks.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"
#include "cli/trace_dir.hpp"
#include "trace/format.hpp"

namespace reprise::cli {

std::vector<std::vector<int>> recorded_outcomes(const std::string& name, int ranks) {
  const OpenTrace trace = open_trace(name);
  if (trace.manifest.ranks != static_cast<std::uint32_t>(ranks))
    fail("explore: {} was recorded with {} ranks, not {}", printable(trace.path), trace.manifest.ranks, ranks);
  std::vector<std::vector<int>> heard(static_cast<std::size_t>(ranks));
  for (const std::uint32_t rank : trace.ranks) {
    if (rank >= heard.size()) continue;
    analyze::Timeline timeline = value_or_fail(analyze::Timeline::open(trace.fd.get(), rank, trace.manifest.trace_id));
    analyze::WorldRanks world;
    analyze::Call call;
    while (value_or_fail(timeline.next(call))) {
      if (call.poll) continue;  // how often a probe says no is not the same here
      for (const engine::WildcardOutcome& outcome : call.wildcards) {
        if (outcome.code == trace::kRefused) continue;
        const auto source =
            outcome.code >= trace::kSourceBase
                ? world.peer(timeline.communicators(), call.arguments[engine::kComm], outcome.code - trace::kSourceBase)
                : std::nullopt;
        heard[rank].push_back(source ? static_cast<int>(*source) : -1);
      }
    }
  }
  return heard;
}

}  // namespace reprise::cli
