#include "engine/wait_graph.hpp"

#include <gtest/gtest.h>

#include <random>

namespace reprise::engine {
namespace {

using For = WaitingThread::For;

std::vector<std::size_t> stuck(std::initializer_list<WaitingThread> threads) {
  return stuck_threads(std::span(threads.begin(), threads.size()));
}

TEST(WaitGraph, CircleOfLocks) {
  EXPECT_EQ(stuck({{0, For::Nobody}, {1, For::Thread, 2}, {2, For::Thread, 1}}), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(stuck({{0, For::Thread, 1}, {1, For::Thread, 2}, {2, For::Thread, 1}}),
            (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(stuck({{0, For::Thread, 0}, {1, For::Nobody}}), (std::vector<std::size_t>{0}));
}

TEST(WaitGraph, ChainThatEndsWithSomebodyWhoRuns) {
  EXPECT_TRUE(stuck({{0, For::Thread, 1}, {1, For::Thread, 2}, {2, For::Nobody}}).empty());
  EXPECT_TRUE(stuck({{0, For::Thread, 7}}).empty()) << "nobody knows that thread";
}

TEST(WaitGraph, ConditionThatSomebodyMaySignal) {
  EXPECT_TRUE(stuck({{0, For::Nobody}, {1, For::Anybody}}).empty());
  EXPECT_EQ(stuck({{0, For::Thread, 1}, {1, For::Anybody}}), (std::vector<std::size_t>{0, 1}));
  // Two in a circle of locks; the third waits for a condition that the main thread may signal.
  EXPECT_EQ(stuck({{0, For::Nobody}, {1, For::Thread, 2}, {2, For::Thread, 1}, {3, For::Anybody}}),
            (std::vector<std::size_t>{1, 2}));
}

// A set in which everybody waits for members only: the largest one is the union of all of them.
std::vector<std::size_t> by_all_subsets(const std::vector<WaitingThread>& threads) {
  const unsigned count = static_cast<unsigned>(threads.size());
  unsigned together = 0;
  for (unsigned set = 1; set < 1u << count; ++set) {
    bool closed = true;
    for (unsigned i = 0; i < count; ++i) {
      if (!(set >> i & 1)) continue;
      if (threads[i].waits_for == For::Nobody) closed = false;
      if (threads[i].waits_for == For::Thread && (threads[i].other >= count || !(set >> threads[i].other & 1)))
        closed = false;
      if (threads[i].waits_for == For::Anybody && set != (1u << count) - 1) closed = false;
    }
    if (closed) together |= set;
  }
  std::vector<std::size_t> result;
  for (unsigned i = 0; i < count; ++i)
    if (together >> i & 1) result.push_back(i);
  return result;
}

TEST(WaitGraph, SameAsBruteForce) {
  std::mt19937 random(5);
  std::size_t deadlocks = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<WaitingThread> threads(1 + random() % 7);
    const unsigned running = random() % 3;
    for (std::uint32_t i = 0; i < threads.size(); ++i) {
      const unsigned kind = random() % 6;
      threads[i].thread = i;
      threads[i].waits_for = kind < running ? For::Nobody : kind == 5 ? For::Anybody : For::Thread;
      threads[i].other = static_cast<std::uint32_t>(random() % (threads.size() + (random() % 8 == 0)));
    }
    const auto expected = by_all_subsets(threads);
    ASSERT_EQ(stuck_threads(threads), expected) << "round " << round;
    deadlocks += !expected.empty();
  }
  EXPECT_GT(deadlocks, 1000u);
}

}  // namespace
}  // namespace reprise::engine
