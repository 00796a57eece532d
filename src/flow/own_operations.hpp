// Reductions with operations of the program's own, against what came of them when one of the ranks tried.
#pragma once

#include "flow/reductions.hpp"

namespace reprise::flow {

// As check_reduction. `expected`: trace/intention_log.hpp, EXPECTED. An operation whose outcome depends on the order by more
// than rounding can (MPI 4.0, 6.9.5: operations are associative) says nothing about the library: then it cannot be checked.
ReductionCheck check_own_reduction(const LoggedShape& shape, const std::vector<const std::vector<std::uint8_t>*>& contributions,
                                   const std::vector<std::uint8_t>& expected, const std::vector<std::uint8_t>& result);

}  // namespace reprise::flow
