// The output of a small command that should end by itself.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reprise::cli {

// stdout of the command; nullopt when it cannot be run, fails, or takes too long. `extra` is added to the environment.
std::optional<std::string> capture(const std::vector<std::string>& command,
                                   const std::vector<std::pair<std::string, std::string>>& extra,
                                   std::chrono::milliseconds patience);

}  // namespace reprise::cli
