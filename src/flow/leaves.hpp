// The predefined types that a datatype is made of, in the order of its type map (MPI 4.0, 5.1).
#pragma once

#include "flow/intention_log.hpp"

namespace reprise::flow {

// A piece of an element without its holes: a number that may be rounded, or bytes that must be right.
struct Leaf {
  std::size_t place = 0;
  std::size_t size = 0;
  bool is_real = false;
};

// Nothing if they are too many, or not known.
std::optional<std::vector<Leaf>> leaves_of(const engine::TypeTree& tree);

// Do so many bytes that leave as one and arrive as the other mean different things? Then the program is wrong (MPI 4.0,
// 3.3.1). Types of one size that are both numbers with a fraction, or both none, are taken for the same.
bool disagree(const LoggedBlock& from, const LoggedBlock& to, std::uint64_t bytes);

}  // namespace reprise::flow
