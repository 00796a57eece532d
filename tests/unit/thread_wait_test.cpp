// What one thread says about itself and another one reads at any time; most of all for the thread sanitizer.
#include "engine/thread_wait.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace reprise::engine {
namespace {

TEST(ThreadWait, WhoeverSeesTheSameWaitTwiceSeesItsFacts) {
  ThreadWait wait;
  std::atomic<bool> over{false};
  std::thread waiter([&] {
    for (std::uint32_t i = 1; i <= 200000; ++i) {
      wait.begin({i, i * 2ull, i * 3ull, i * 4ull});
      if (i % 64 == 0) std::this_thread::yield();
      wait.end();
    }
    over = true;
  });
  std::uint64_t seen = 0;
  std::uint64_t torn = 0;
  while (!over) {
    const std::uint64_t before = wait.sequence();
    const ThreadWait::Facts facts = wait.facts();
    if (before % 2 == 0 || wait.sequence() != before) continue;
    ++seen;
    const std::uint64_t i = facts.function;
    torn += facts.object != i * 2 || facts.caller != i * 3 || facts.mark != i * 4 || before != 2 * i - 1;
  }
  waiter.join();
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(wait.sequence() % 2, 0u);
  RecordProperty("seen", std::to_string(seen));
}

TEST(TakenLocks, TheNewestFirstAndNotTooMany) {
  TakenLocks taken;
  EXPECT_EQ(taken.newest_first()[0].lock, 0u);
  for (std::uintptr_t i = 1; i <= TakenLocks::kKept + 3; ++i)
    taken.took(reinterpret_cast<const void*>(i), reinterpret_cast<const void*>(i + 1000));
  const TakenLocks::List list = taken.newest_first();
  for (std::size_t i = 0; i < TakenLocks::kKept; ++i) {
    EXPECT_EQ(list[i].lock, TakenLocks::kKept + 3 - i);
    EXPECT_EQ(list[i].caller, TakenLocks::kKept + 1003 - i);
  }
}

}  // namespace
}  // namespace reprise::engine
