// Threads that pass locks in some order, recorded as turns; other threads that are held to it pass them in the same one.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "engine/thread_order.hpp"
#include "trace_support.hpp"

namespace reprise::engine {
namespace {

constexpr std::uint32_t kThreadCount = 4;
constexpr std::size_t kPasses = 3000;

struct Lock {
  std::mutex mutex;
  std::vector<std::uint32_t> order;  // who had it
};
using Locks = std::vector<Lock>;

// What one thread does: which lock next, and (once recorded) which turn it came after.
struct Pass {
  std::size_t lock;
  Turn after;
};
using Plan = std::vector<std::vector<Pass>>;

Plan random_plan(std::size_t locks) {
  trace::Random random(trace::test_seed());
  Plan plan(kThreadCount);
  for (auto& passes : plan)
    for (std::size_t i = 0; i < kPasses; ++i) passes.push_back({random() % locks, {}});
  return plan;
}

template <class Thread>
void run(Thread thread) {
  std::vector<std::thread> threads;
  for (std::uint32_t me = 0; me < kThreadCount; ++me) threads.emplace_back(thread, me);
  for (auto& each : threads) each.join();
}

void record(Plan& plan, Locks& locks, std::uint32_t first) {
  run([&](std::uint32_t me) {
    ThreadTurns turns;
    turns.begin(first + me);
    for (Pass& pass : plan[me]) {
      Lock& lock = locks[pass.lock];
      const std::lock_guard guard(lock.mutex);
      lock.order.push_back(me);
      pass.after = turns.take(&lock);
    }
  });
}

void replay(const Plan& plan, Locks& locks, std::uint32_t first) {
  run([&](std::uint32_t me) {
    ThreadTurns turns;
    turns.begin(first + me);
    for (const Pass& pass : plan[me]) {
      Lock& lock = locks[pass.lock];
      await_turn(pass.after);
      const std::lock_guard guard(lock.mutex);
      lock.order.push_back(me);
      turn_is_over(first + me, turns.next());
    }
  });
}

// The locks of the replay are others, at other addresses: turns name no objects.
void order_comes_back(std::size_t count, std::uint32_t first) {
  Plan plan = random_plan(count);
  Locks recorded(count), replayed(count);
  record(plan, recorded, first);
  replay(plan, replayed, first);
  for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(recorded[i].order, replayed[i].order) << "lock " << i;
}

TEST(ThreadOrder, OneLock) { order_comes_back(1, 100); }
TEST(ThreadOrder, AFewLocks) { order_comes_back(5, 200); }
TEST(ThreadOrder, MoreLocksThanTheTableHasPlaces) { order_comes_back(40'000, 300); }

TEST(ThreadOrder, AThreadAloneComesAfterNobody) {
  ThreadTurns turns;
  turns.begin(400);
  int object = 0;
  turns.take(&object);  // perhaps after somebody who had an object with the same place in the table
  for (int i = 1; i < 1000; ++i) EXPECT_EQ(turns.take(&object).number, 0u);
  EXPECT_EQ(turns.count(), 1000u);
}

TEST(ThreadOrder, WhatIsKnownIsNotSaidAgain) {
  ThreadTurns one, two;
  one.begin(500);
  two.begin(501);
  int first = 0, second = 0;
  one.take(&first);
  one.take(&second);
  const Turn after = two.take(&second);
  EXPECT_EQ(after.thread, 500u);
  EXPECT_EQ(after.number, 2u);
  EXPECT_EQ(two.take(&first).number, 0u) << "turn 1 of thread 500 came before its turn 2";
}

}  // namespace
}  // namespace reprise::engine
