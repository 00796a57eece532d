#include "frontends/mcapi/handle_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace reprise::mcapi {
namespace {

// Against a map, with keys that lie close together as handles do, and are forgotten as often as they are made.
TEST(HandleTable, IsAMap) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    HandleTable<int> table;
    std::map<std::uint64_t, int> truth;
    for (int step = 0; step < 5000; ++step) {
      const std::uint64_t key = (1 + random() % (seed * 20)) * (seed % 2 ? 1 : 24);
      const auto found = truth.find(key);
      switch (random() % 3) {
        case 0:
          table.put(key, step);
          truth[key] = step;
          break;
        case 1:
          EXPECT_EQ(table.get(key), found == truth.end() ? std::nullopt : std::optional<int>(found->second)) << "seed " << seed;
          break;
        default:
          EXPECT_EQ(table.take(key), found == truth.end() ? std::nullopt : std::optional<int>(found->second)) << "seed " << seed;
          if (found != truth.end()) truth.erase(found);
      }
    }
    for (const auto& [key, value] : truth) EXPECT_EQ(table.get(key), value) << "seed " << seed;
  }
}

}  // namespace
}  // namespace reprise::mcapi
