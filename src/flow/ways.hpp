// How the library really moves a block: the ways of its bytes.
#pragma once

#include "flow/journey.hpp"

namespace reprise::flow {

// The ways of those that arrived: each with how many bytes, and with how many movements at each stage.
struct Way {
  std::vector<Stage> stages;
  std::vector<std::uint64_t> movements;
  std::vector<const Hop*> examples;
  std::uint64_t bytes = 0;
};
std::vector<Way> ways_of(const Journey& journey);

}  // namespace reprise::flow
