// The blocks of a heap, against a map.
#include "frontends/heap/allocations.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>

namespace reprise::heap {
namespace {

TEST(Allocations, AreFoundLikeInAMap) {
  const auto all = std::make_unique<Allocations>();
  std::map<std::uintptr_t, std::uint32_t> truth;
  std::mt19937_64 random(7);
  // Crowded, spread over several regions, and at the ends of what can be addressed.
  const std::uintptr_t bases[] = {0x5555'5555'0000, 0x5555'5575'0000, 0x7fff'f000'0000, 0x10, 0xffff'ffc0'0000};
  for (int step = 0; step < 200000; ++step) {
    const std::uintptr_t base = bases[random() % std::size(bases)];
    const std::uintptr_t at = base + random() % (step % 2 ? 4096 : 3u << 20) / 16 * 16;
    switch (random() % 4) {
      case 0:
      case 1: {
        const auto spare = static_cast<std::uint32_t>(random() % 4000);
        all->add(at, spare);
        truth[at] = spare;
        break;
      }
      case 2:
        all->remove(at);
        truth.erase(at);
        break;
      default: {
        const std::uintptr_t asked = at + random() % 64;
        const auto found = all->last_before(asked);
        const auto after = truth.upper_bound(asked);
        ASSERT_EQ(found.has_value(), after != truth.begin()) << std::hex << asked;
        if (!found) break;
        EXPECT_EQ(found->begin, std::prev(after)->first);
        EXPECT_EQ(found->spare, std::prev(after)->second);
      }
    }
  }
}

TEST(Allocations, WhatNoMallocMakesIsLeftOut) {
  const auto all = std::make_unique<Allocations>();
  all->add(0x1000'0008, 0);
  all->add(0x1000'0010, 1u << 20);
  all->add(std::uintptr_t{1} << 50, 0);
  EXPECT_FALSE(all->last_before(0x2000'0000));
  EXPECT_FALSE(all->last_before(UINTPTR_MAX));
}

}  // namespace
}  // namespace reprise::heap
