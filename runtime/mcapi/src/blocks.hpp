// The memory of messages: blocks of a few sizes, and a list of free ones for each.
#pragma once

#include "universe.hpp"

namespace mcapi {

std::size_t universe_size();  // with the blocks
// Those that a dead process had in its hands.
void give_blocks_of(std::uint32_t process);

}  // namespace mcapi
