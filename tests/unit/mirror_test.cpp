// A private copy of memory that others write to: what a program loads, what others see of what it stores, and that a replay of the log
// loads the same.
#include "engine/mirror.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "engine/seen_memory.hpp"

namespace reprise::engine {
namespace {

TEST(Mirror, OnlyWhatOthersWroteIsShown) {
  std::vector<std::uint8_t> real(200);
  Mirror mirror(real.data(), real.size());
  ASSERT_TRUE(mirror.is_made());
  EXPECT_TRUE(mirror.is_current(0, 200));
  real[70] = 7;
  EXPECT_FALSE(mirror.is_current(64, 8));
  EXPECT_TRUE(mirror.is_current(72, 8));
  EXPECT_EQ(mirror.program()[70], 0) << "nobody has shown it yet";
  const auto changed = mirror.changed_by_others();
  ASSERT_EQ(changed.size(), 1u);
  EXPECT_EQ(changed[0].begin, 64u);
  EXPECT_EQ(changed[0].end, 128u);
}

TEST(Mirror, StoresArePublished) {
  std::vector<std::uint8_t> real(200);
  std::vector<std::uint8_t> own(200, 3);
  Mirror mirror(real.data(), real.size(), Mirror::Copy::TheProgramHas, own.data());
  EXPECT_EQ(real, own) << "the program's memory as it was";
  own[9] = 5;
  mirror.publish(8, 2);
  EXPECT_EQ(real[9], 5);
  EXPECT_TRUE(mirror.changed_by_others().empty());
}

// Code without hooks stores beside what others write, in the same word.
TEST(Mirror, BytesWithoutHooksArePublishedOneByOne) {
  std::vector<std::uint8_t> real(64);
  Mirror mirror(real.data(), real.size());
  mirror.program()[3] = 1;
  mirror.program()[5] = 2;
  real[4] = 9;
  mirror.publish_unhooked();
  EXPECT_EQ(real[3], 1);
  EXPECT_EQ(real[4], 9) << "somebody else's";
  EXPECT_EQ(real[5], 2);
  EXPECT_FALSE(mirror.is_current(0, 8));
}

// Random accesses of the program, of others, of code without hooks. A second program has only the log.
TEST(Mirror, AReplayLoadsWhatWasLoaded) {
  constexpr std::uint64_t kSize = 300;
  for (unsigned seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<std::uint8_t> real(kSize);
    Mirror mirror(real.data(), kSize);
    SeenMemory recorded;
    recorded.add_region(real.data(), kSize);
    recorded.mirror(0, &mirror);
    std::vector<std::uint8_t> alone(kSize);
    SeenMemory replayed;
    replayed.add_region(alone.data(), kSize);
    for (int step = 0; step < 2000; ++step) {
      const std::uint64_t size = std::uint64_t{1} << random() % 4;
      const std::uint64_t at = random() % (kSize - size) / size * size;
      std::uint8_t bytes[8];
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random() % 4);
      switch (random() % 4) {
        case 0: std::memcpy(real.data() + at, bytes, size); break;  // others
        case 1:
          std::memcpy(mirror.program() + at, bytes, size);
          std::memcpy(alone.data() + at, bytes, size);
          if (random() % 4 > 0) {  // otherwise without a hook
            mirror.publish(at, size);
            ASSERT_EQ(std::memcmp(real.data() + at, bytes, size), 0);
          }
          break;
        default:
          if (!mirror.is_current(at, size)) {
            mirror.publish_unhooked(at, size);
            if (!mirror.is_current(at, size)) {
              const SeenMemory::Look look = recorded.look_there(0, at, at + size);
              ASSERT_TRUE(replayed.show(look.ranges, look.bytes));
            }
          }
          ASSERT_EQ(std::memcmp(mirror.program() + at, real.data() + at, size), 0) << "not what is there, step " << step;
          ASSERT_EQ(std::memcmp(mirror.program() + at, alone.data() + at, size), 0) << "not the same in the replay, step " << step;
      }
      if (step % 100 == 99) {  // a call that synchronises: everything
        mirror.publish_unhooked();
        const SeenMemory::Look look = recorded.look();
        ASSERT_TRUE(replayed.show(look.ranges, look.bytes));
        ASSERT_EQ(std::memcmp(mirror.program(), real.data(), kSize), 0);
        ASSERT_EQ(std::memcmp(mirror.program(), alone.data(), kSize), 0);
      }
    }
  }
}

}  // namespace
}  // namespace reprise::engine
