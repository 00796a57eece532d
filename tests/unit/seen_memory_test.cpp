// What a rank sees of the memory that others write to: what is logged of it, and that a replay shows the same.
#include "engine/seen_memory.hpp"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>
#include <thread>

namespace reprise::engine {
namespace {

class SeenMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/reprise-touches-XXXXXX";
    directory_ = mkdtemp(pattern);
    dir_fd_ = open(directory_.c_str(), O_RDONLY | O_DIRECTORY);
  }
  void TearDown() override {
    close(dir_fd_);
    std::filesystem::remove_all(directory_);
  }
  std::unique_ptr<Touches> queue() {
    auto made = Touches::make(dir_fd_, "queue");
    EXPECT_TRUE(made);
    auto joined = Touches::join(dir_fd_, "queue");
    EXPECT_TRUE(joined);
    origin_ = std::move(*joined);
    return std::move(*made);
  }
  std::string directory_;
  int dir_fd_ = -1;
  std::unique_ptr<Touches> origin_;
};

TEST_F(SeenMemoryTest, OnlyWhatWasTouchedIsLogged) {
  std::vector<std::uint8_t> memory(1000, 7);
  SeenMemory seen;
  seen.add_region(memory.data(), memory.size());
  seen.listen(queue(), true);
  EXPECT_FALSE(seen.may_have_changed());
  memory[500] = 1;  // the rank's own
  std::memset(memory.data() + 100, 9, 10);
  origin_->add({100, 10, 3, 1});
  EXPECT_TRUE(seen.may_have_changed());
  const auto look = seen.look();
  EXPECT_EQ(look.bytes, std::vector<std::uint8_t>(10, 9));
  std::vector<SeenMemory::Seen> ranges;
  ASSERT_TRUE(SeenMemory::read_ranges(look.ranges, ranges));
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].begin, 100u);
  EXPECT_EQ(ranges[0].size, 10u);
  std::vector<SeenMemory::Accessed> touches;
  ASSERT_TRUE(SeenMemory::read_touches(look.touches, touches));
  ASSERT_EQ(touches.size(), 1u);
  EXPECT_EQ(touches[0].rank, 3u);
  EXPECT_EQ(touches[0].begin, 100u);
}

// Until its origin says that it is complete, an access may change something at any time.
TEST_F(SeenMemoryTest, AnOpenAccessIsLookedAtAgain) {
  std::vector<std::uint8_t> memory(256, 0);
  SeenMemory seen;
  seen.add_region(memory.data(), memory.size());
  seen.listen(queue(), true);
  origin_->add({0, 8, 1, 1});
  EXPECT_EQ(seen.look().bytes.size(), 8u);  // seen for the first time
  memory[3] = 5;
  EXPECT_TRUE(seen.may_have_changed());
  EXPECT_EQ(seen.look().bytes.size(), 8u);
  EXPECT_EQ(seen.look().bytes.size(), 0u);
  origin_->add({0, 0, 1, 1});
  memory[4] = 5;
  EXPECT_EQ(seen.look().bytes.size(), 8u);
  EXPECT_FALSE(seen.may_have_changed());
}

// It is complete when both have come back from the fence that its origin has begun, and not one fence too early.
TEST_F(SeenMemoryTest, AFenceCompletesWhatWasToldBeforeIt) {
  std::vector<std::uint8_t> memory(256, 0);
  SeenMemory seen;
  seen.add_region(memory.data(), memory.size());
  seen.listen(queue(), true);
  origin_->add({0, 16, 3, 1});
  origin_->add({1, 0, 3, 1});
  origin_->add({16, 16, 3, 2});  // of the next epoch
  origin_->add({2, 0, 3, 2});
  memory[0] = 1;
  EXPECT_TRUE(seen.look().any());
  seen.fence_ended();
  EXPECT_FALSE(seen.look().any());
  memory[0] = 2;  // by nobody that is known
  memory[16] = 1;
  EXPECT_EQ(seen.look().bytes, std::vector<std::uint8_t>({1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  seen.fence_ended();
  seen.look();
  EXPECT_FALSE(seen.may_have_changed());
}

// A store is complete when its origin tells of anything else. What changes then, where it has been looked at, is somebody else's.
TEST_F(SeenMemoryTest, AStoreThatWasSeenIsBlamedForNothingElse) {
  std::vector<std::uint8_t> memory(256, 0);
  SeenMemory seen;
  seen.add_region(memory.data(), memory.size());
  seen.listen(queue(), false);
  const auto writers_at = [&](std::uint64_t begin, const std::uint8_t* read_before = nullptr) {
    const auto look = seen.look_there(0, begin, begin + 8, read_before);
    std::vector<SeenMemory::Accessed> touches;
    EXPECT_TRUE(SeenMemory::read_touches(look.touches, touches));
    std::vector<std::uint32_t> ranks;
    for (const auto& one : touches) ranks.push_back(one.rank);
    return ranks;
  };
  using Ranks = std::vector<std::uint32_t>;
  origin_->add({0, 256, 3, kStore});
  EXPECT_EQ(writers_at(64), Ranks{3});
  memory[64] = 1;  // it may still be under way
  EXPECT_EQ(writers_at(64), Ranks{3});
  origin_->add({0, 0, 3, kStore});
  memory[64] = 2;  // while it was not known to be complete
  EXPECT_EQ(writers_at(64), Ranks{3});
  memory[64] = 3;
  EXPECT_EQ(writers_at(64), Ranks{});
  // Beside it nobody has looked.
  EXPECT_EQ(writers_at(56), Ranks{3});
  EXPECT_EQ(writers_at(72), Ranks{3});
  EXPECT_EQ(writers_at(56), Ranks{});
  // Bytes that were read before it was known to be complete may be without it.
  origin_->add({128, 8, 4, kStore});
  EXPECT_EQ(writers_at(128, memory.data() + 128), (Ranks{3, 4}));
  origin_->add({200, 8, 4, kStore});
  memory[128] = 1;
  EXPECT_EQ(writers_at(128, memory.data() + 128), Ranks{4});
  memory[128] = 2;
  EXPECT_EQ(writers_at(128, memory.data() + 128), Ranks{4});
  memory[128] = 3;
  EXPECT_EQ(writers_at(128, memory.data() + 128), Ranks{});
}

// A shared window of several ranks: names count from where this rank's part begins, and what is before it is the others'.
TEST_F(SeenMemoryTest, StoresBeforeTheOwnPartAreForgottenToo) {
  std::vector<std::uint8_t> memory(256, 0);
  SeenMemory seen;
  Mirror mirror(memory.data(), memory.size());
  seen.mirror(seen.add_region(memory.data(), memory.size()), &mirror, 64);
  seen.listen(queue(), false);
  const auto writers_at = [&](std::uint64_t begin) {
    memory[begin] += 1;
    std::vector<SeenMemory::Accessed> touches;
    EXPECT_TRUE(SeenMemory::read_touches(seen.look_there(0, begin, begin + 8).touches, touches));
    std::vector<std::uint32_t> ranks;
    for (const auto& one : touches) ranks.push_back(one.rank);
    return ranks;
  };
  using Ranks = std::vector<std::uint32_t>;
  const auto named = [](std::uint64_t at) { return at - 64; };
  origin_->add({named(8), 8, 2, kStore});
  origin_->add({named(0), 256, 3, kStore});
  for (const std::uint32_t rank : {2u, 3u}) origin_->add({0, 0, rank, kStore});
  for (const std::uint64_t at : {56, 0, 64, 120}) {
    EXPECT_EQ(writers_at(at), Ranks{3}) << at;
    EXPECT_EQ(writers_at(at), Ranks{}) << at;
  }
  EXPECT_EQ(writers_at(8), (Ranks{2, 3}));  // the last one is more likely
}

TEST_F(SeenMemoryTest, AFullQueueMeansEverything) {
  std::vector<std::uint8_t> memory(4096, 0);
  SeenMemory seen;
  seen.add_region(memory.data(), memory.size());
  seen.listen(queue(), true);
  bool all = true;
  for (std::uint32_t i = 1; i <= 10000; ++i) all &= origin_->add({i % 4000, 1, 1, i});
  EXPECT_FALSE(all);
  memory[4095] = 1;
  const auto look = seen.look();
  EXPECT_EQ(look.bytes.size(), memory.size());
}

// A rank that is replayed has the same shadow, whatever it writes itself.
TEST_F(SeenMemoryTest, AReplayShowsTheSame) {
  std::mt19937 random(1);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  std::vector<std::uint8_t> memory(700, 0), replayed(700, 0);
  SeenMemory seen, shown;
  seen.add_region(memory.data(), memory.size());
  shown.add_region(replayed.data(), replayed.size());
  seen.listen(queue(), true);
  std::uint32_t number = 0;
  for (int step = 0; step < 2000; ++step) {
    for (std::uint64_t i = below(4); i > 0; --i) {  // the rank's own, in both
      const std::uint64_t at = below(700);
      memory[at] = replayed[at] = static_cast<std::uint8_t>(below(3));
    }
    for (std::uint64_t i = below(4); i > 0; --i) {
      const std::uint64_t at = below(700);
      const std::uint64_t size = 1 + below(700 - at);
      origin_->add({at, size, 2, ++number});
      std::memset(memory.data() + at, static_cast<int>(below(3)), size);
      origin_->add({0, 0, 2, number});
    }
    const auto look = seen.look();
    ASSERT_TRUE(shown.show(look.ranges, look.bytes));
    ASSERT_EQ(memory, replayed) << "step " << step;
  }
}

TEST_F(SeenMemoryTest, RegionsByAddress) {
  std::vector<std::uint8_t> first(100, 0), second(100, 0), other(100, 0), another(100, 0);
  SeenMemory seen(SeenMemory::Naming::Addresses), shown(SeenMemory::Naming::Addresses);
  seen.add_region(first.data(), 100), seen.add_region(second.data(), 100);
  shown.add_region(other.data(), 100), shown.add_region(another.data(), 100);
  seen.listen(queue(), true);
  second[7] = 3;
  origin_->add({reinterpret_cast<std::uint64_t>(second.data()) + 7, 1, 0, 1});
  auto look = seen.look();
  ASSERT_TRUE(shown.show(look.ranges, look.bytes));
  EXPECT_EQ(another[7], 3);
  seen.remove_region(first.data()), shown.remove_region(other.data());
  second[8] = 4;
  origin_->add({reinterpret_cast<std::uint64_t>(second.data()) + 8, 1, 0, 2});
  look = seen.look();
  ASSERT_TRUE(shown.show(look.ranges, look.bytes));
  EXPECT_EQ(another[8], 4);
}

TEST_F(SeenMemoryTest, DamagedLooksAreRefused) {
  std::vector<std::uint8_t> memory(100, 0);
  SeenMemory shown;
  shown.add_region(memory.data(), 100);
  EXPECT_FALSE(shown.show({0, 90, 20 << 1 | 1}, std::vector<std::uint8_t>(20)));  // beyond its end
  EXPECT_FALSE(shown.show({0, 0, 8 << 1 | 1}, std::vector<std::uint8_t>(7)));     // too few bytes
  EXPECT_FALSE(shown.show({1, 0, 8 << 1 | 1}, std::vector<std::uint8_t>(8)));     // no such region
  EXPECT_FALSE(shown.show({0, 0, 0x80}, {}));
  EXPECT_FALSE(shown.show({0, 0xF6, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 20 << 1 | 1}, std::vector<std::uint8_t>(20)));  // around the end
}

// Another thread's look, which comes later in the replay, has seen it.
TEST_F(SeenMemoryTest, WhatNobodyHasSeenIsLeftAsItIs) {
  std::vector<std::uint8_t> memory(100, 7);
  SeenMemory shown;
  shown.add_region(memory.data(), 100);
  ASSERT_TRUE(shown.show({0, 64, 8 << 1 | 1}, {1, 2, 3, 4, 5, 6, 7, 8}));
  memory[65] = 9;
  ASSERT_TRUE(shown.show({0, 0, 8 << 1, 0, 56, 8 << 1}, {}));
  EXPECT_EQ(memory[0], 7);
  EXPECT_EQ(memory[65], 2);
}

TEST_F(SeenMemoryTest, ManyWriters) {
  auto mine = queue();
  constexpr std::uint32_t kEach = 20000;
  std::vector<std::thread> threads;
  for (std::uint32_t origin = 0; origin < 4; ++origin)
    threads.emplace_back([&, origin] {
      for (std::uint32_t i = 1; i <= kEach;) {
        if (origin_->add({i, 1, origin, i})) ++i;
        else std::this_thread::yield();
      }
    });
  std::uint32_t next[4] = {1, 1, 1, 1};
  for (std::uint32_t taken = 0; taken < 4 * kEach;) {
    Touch touch;
    if (!mine->take(touch)) {
      std::this_thread::yield();
      continue;
    }
    ++taken;
    ASSERT_EQ(touch.number, next[touch.origin]++);
    ASSERT_EQ(touch.begin, touch.number);
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace reprise::engine
