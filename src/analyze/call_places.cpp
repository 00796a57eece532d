#include "analyze/call_places.hpp"

#include "analyze/timeline.hpp"

namespace reprise::analyze {

Result<void> CallPlaces::read(int dir_fd, std::uint64_t trace_id) {
  SourceLines lines;
  for (auto wanted = places_.begin(); wanted != places_.end();) {
    const auto [rank, thread, first] = wanted->first;
    auto timeline = Timeline::open(dir_fd, rank, trace_id, thread);
    if (!timeline) return timeline.error();
    const auto is_same = [&, rank = rank, thread = thread] {
      return wanted != places_.end() && std::get<0>(wanted->first) == rank && std::get<1>(wanted->first) == thread;
    };
    Call call;
    while (is_same()) {
      const auto have = timeline->next(call);
      if (!have) return have.error();
      if (!*have) break;
      if (call.number != std::get<2>(wanted->first)) continue;
      const auto& module = timeline->module_of(call);
      wanted->second = timeline->function_of(call).name + " at " +
                       lines.find(module.path, module.build_id, timeline->site_of(call).offset).text();
      ++wanted;
    }
    while (is_same()) ++wanted;  // the log ends before
  }
  return {};
}

}  // namespace reprise::analyze
