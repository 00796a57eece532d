// What became of a byte at a place, whoever's it was: who has put something there, and who took that.
#pragma once

#include <span>

#include "flow/tracker.hpp"

namespace reprise::flow {

// Is the byte at this place one of so many from `where` on?
inline bool covers(const Place& where, std::uint64_t bytes, const Place& byte) {
  return where.kind == byte.kind && where.number == byte.number && where.address <= byte.address && byte.address < where.address + bytes;
}

// The first of these movements that takes the byte, before something else is put there; null: none.
const Hop* taken_next(std::span<const Hop> hops, const Place& byte);

// Has the byte that `landed` has put there come by an earlier movement? Both are of the same trail.
bool has_come_by(const Hop& movement, const Hop* landed, std::uint64_t address);

}  // namespace reprise::flow
