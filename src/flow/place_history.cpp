#include "flow/place_history.hpp"

namespace reprise::flow {

const Hop* taken_next(std::span<const Hop> hops, const Place& byte) {
  for (const Hop& hop : hops) {
    if (covers(hop.from, hop.bytes, byte)) return &hop;
    if (covers(hop.to, hop.bytes, byte)) return nullptr;
  }
  return nullptr;
}

bool has_come_by(const Hop& movement, const Hop* landed, std::uint64_t address) {
  const Hop* hop = landed;
  while (hop && hop > &movement) {
    Place taken = hop->from;
    taken.address += address - hop->to.address;
    for (--hop; hop > &movement && !covers(hop->to, hop->bytes, taken);) --hop;
    if (!covers(hop->to, hop->bytes, taken)) return false;
    address = taken.address;
  }
  return hop == &movement;
}

}  // namespace reprise::flow
