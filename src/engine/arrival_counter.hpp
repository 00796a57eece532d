// A file that all nodes of an MCAPI program map: how many messages have been received, of all that there are.
#pragma once

#include <atomic>
#include <cstdint>

namespace reprise::engine {

struct ArrivalCounter {
  // Who waits for its turn sleeps at a place of its own, so that only the next one is woken.
  struct Place {
    std::atomic<std::uint32_t> changes;
    std::atomic<std::uint32_t> waiting;
  };
  static constexpr std::size_t kPlaces = 64;

  std::atomic<std::int64_t> come;
  Place places[kPlaces];

  Place& place_of(std::int64_t number) { return places[static_cast<std::uint64_t>(number) % kPlaces]; }
};

}  // namespace reprise::engine
