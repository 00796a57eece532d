// What a recorded run heard: where an exploration that is to stay near it begins.
#pragma once

#include <string>
#include <vector>

namespace reprise::cli {

// Per rank: the world ranks that its receives from anybody took, and its probes for anybody found, in the order in
// which they were posted; -1 where the log does not say it. Throws UserError.
std::vector<std::vector<int>> recorded_outcomes(const std::string& trace, int ranks);

}  // namespace reprise::cli
