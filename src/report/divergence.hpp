// What a person reads when a replay goes wrong: where, what was recorded, what happened instead, and why that may be.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/supervision.hpp"

namespace reprise::report {

// A trace that is open.
struct TraceRef {
  int dir_fd = -1;
  std::uint64_t id = 0;
};

// What the rank itself could not say (it crashed) is looked up in the trace.
void print_divergence(std::uint32_t rank, const engine::DivergenceReport& report, const TraceRef& trace);

// A rank that made so many calls and then no further one: what the recorded run did next, and what it does instead.
void print_no_further_call(std::uint32_t rank, std::uint64_t calls, const std::string& instead, const TraceRef& trace);

// Where a rank is in its log.
struct Place {
  std::uint32_t rank = 0;
  std::uint64_t event = 0;  // calls made so far, the current one included
  engine::RankState state = engine::RankState::Running;
  bool gone = false;
};

// One line per position, ranks grouped, the smallest group (the odd one out) first.
void print_places(const std::vector<Place>& places, const TraceRef& trace);

}  // namespace reprise::report
