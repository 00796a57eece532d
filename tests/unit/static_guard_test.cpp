#include "base/static_guard.hpp"

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

namespace reprise {
namespace {

TEST(StaticGuard, OneOfManyThreadsInitialises) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  std::vector<int> guards(kRounds, 0);
  std::vector<std::atomic<int>> made(kRounds);
  std::barrier together(kThreads);
  const auto work = [&] {
    together.arrive_and_wait();
    for (int round = 0; round < kRounds; ++round) {
      if (acquire_guard(guards[round])) {
        made[round].fetch_add(1);
        std::atomic_ref(guards[round]).exchange(kGuardDone, std::memory_order_acq_rel);  // as __cxa_guard_release does
      }
      ASSERT_EQ(made[round].load(), 1);
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace reprise
