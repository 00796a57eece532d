// What a person reads when a replay goes wrong: where, what was recorded, what happened instead, and why that may be.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/supervision.hpp"

namespace reprise::report {

void print_divergence(std::uint32_t rank, const engine::DivergenceReport& report);

// Where a rank is in its log.
struct Place {
  std::uint32_t rank = 0;
  std::uint64_t event = 0;  // calls made so far, the current one included
  engine::RankState state = engine::RankState::Running;
  bool gone = false;
};

// One line per position, ranks grouped, the smallest group (the odd one out) first.
void print_places(const std::vector<Place>& places, int dir_fd, std::uint64_t trace_id);

}  // namespace reprise::report
