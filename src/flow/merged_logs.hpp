// The logs of all ranks, in the order of what they tell.
#pragma once

#include <vector>

#include "base/function_ref.hpp"
#include "flow/intention_log.hpp"

namespace reprise::flow {

struct LogOfRank {
  std::uint32_t rank = 0;
  IntentionLog* log = nullptr;
};

struct MergeHost {
  FunctionRef<bool(const Event&)> is_ready;
  FunctionRef<void(std::uint32_t rank, Event event)> add;
  FunctionRef<void(std::uint32_t rank, const Error&)> trouble;  // this log ends too early
};

// Those of one machine by its clock; between machines, what was written comes before it is read. Logs without movements have
// no times: a little of each, in turn, so that little has to be kept.
void read_merged(const std::vector<LogOfRank>& logs, const MergeHost& host);

}  // namespace reprise::flow
