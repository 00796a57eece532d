// Reductions, from samples of their contributions: exactly for integers, logical values and extremes; for floating point
// within what rounding may do in any order (MPI 4.0, 6.9.1: the order is the library's).
#pragma once

#include <string>
#include <vector>

#include "flow/intention_log.hpp"

namespace reprise::flow {

struct ReductionCheck {
  bool can = true;    // the type and the operation are known
  std::string words;  // what is wrong; empty: nothing
};
// `contributions`: of each peer, in the order of ranks: the samples of its `shape.all` elements. `result`: samples of those
// from `shape.first` on.
ReductionCheck check_reduction(const LoggedShape& shape, const std::vector<const std::vector<std::uint8_t>*>& contributions,
                               const std::vector<std::uint8_t>& result);

// One element of this predefined type. `operation`: as in shapes.
ReductionCheck check_element(const std::string& type, std::uint64_t size, std::uint64_t operation,
                             const std::vector<const std::uint8_t*>& contributions, const std::uint8_t* result);

}  // namespace reprise::flow
