// The logs of intentions of all ranks of a trace.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/trace_dir.hpp"
#include "flow/merged_logs.hpp"
#include "flow/tracker.hpp"

namespace reprise::cli {

struct IntentionLogs {
  std::vector<flow::IntentionLog> logs;         // what is found points into them
  std::map<std::uint32_t, std::size_t> log_of;  // of a rank
  std::vector<std::string> troubles;            // logs that cannot be read, or not to their ends
  std::vector<bool> cut_off;                    // by rank: its log ends too early

  // Has this run been followed through the library? After read().
  bool has_movements() const;
  void read(FunctionRef<bool(const flow::Event&)> is_ready, FunctionRef<void(std::uint32_t, flow::Event)> add);
  // All of them, for the tracker alone.
  void follow(flow::Tracker& tracker);
};

IntentionLogs open_intention_logs(const OpenTrace& trace);

}  // namespace reprise::cli
