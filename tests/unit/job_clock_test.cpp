#include "cli/job_clock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;

TEST(JobClock, TimeThatOthersTookDoesNotCount) {
  EXPECT_DOUBLE_EQ(time_had(1, 0, 0, 2), 1);           // everybody sleeps
  EXPECT_DOUBLE_EQ(time_had(1, 1, 0, 2), 1);           // one computes
  EXPECT_DOUBLE_EQ(time_had(1, 0.25, 0.75, 2), 0.25);  // one computes beside strangers
  EXPECT_DOUBLE_EQ(time_had(1, 2, 1, 2), 1);           // three of our own share two processors
  EXPECT_DOUBLE_EQ(time_had(1, 0.5, 2.5, 2), 0.25);    // they get a quarter of what they could
  EXPECT_NEAR(time_had(1, 0.001, 0.002, 2), 1, 0.01);  // hardly anybody wants to run
  EXPECT_GT(time_had(1, 0, 1, 2), 0.05);               // never stands still for good
  EXPECT_DOUBLE_EQ(time_had(0, 0, 0, 2), 0);
}

TEST(JobClock, AWaitThatIsNotOverYetCounts) {
  const auto between = [](ThreadUse before, ThreadUse now) { return used_between(before, now, 1); };
  EXPECT_DOUBLE_EQ(between({5, 7, true}, {5, 7, true}).waited, 1);               // has not had a turn
  EXPECT_DOUBLE_EQ(between({5, 7, true}, {5.25, 7.5, true}).waited, 0.75);       // had one, and waits again
  EXPECT_DOUBLE_EQ(between({5, 7, true, 1}, {5.25, 7.5, true, 2}).waited, 0.5);  // it also slept
  EXPECT_DOUBLE_EQ(between({5, 7, false, 1}, {5.25, 7.5, true, 1}).waited, 0.5);
  EXPECT_DOUBLE_EQ(between({5, 7, false}, {5, 7, false}).waited, 0);
  EXPECT_DOUBLE_EQ(between({5, 7, false}, {5, 17, false}).waited, 1);  // it began to wait before
  EXPECT_DOUBLE_EQ(between({5, 7, false}, {1, 0, false}).ran, 0);      // another thread with the same number
}

TEST(JobClock, StolenTimeIsWaitedFor) {
  EXPECT_DOUBLE_EQ(waited_in_sum(0, 0, 0), 0);
  EXPECT_DOUBLE_EQ(waited_in_sum(0.5, 0.5, 1), 1.5);
  EXPECT_DOUBLE_EQ(waited_in_sum(0.5, 2, 1), 2);  // those who were always ready have waited for it already
  EXPECT_DOUBLE_EQ(time_had(1, 0.25, waited_in_sum(0, 0, 0.75), 2), 0.25);
}

// Lets the clock look for so long.
JobClock::Time watch(JobClock& clock, std::chrono::milliseconds time) {
  const auto before = clock.now();
  const auto until = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < until) {
    clock.tick();
    std::this_thread::sleep_for(10ms);
  }
  return clock.now() - before;
}

TEST(JobClock, StandsStillWhileAProcessIsStopped) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  JobClock clock;
  auto moved = watch(clock, 700ms);
  for (int i = 0; i < 100 && moved <= 200ms; ++i) moved += watch(clock, 100ms);  // a busy machine gives it less
  EXPECT_GT(moved, 200ms);
  ::kill(child, SIGSTOP);
  ::waitpid(child, nullptr, WUNTRACED);
  watch(clock, 300ms);  // the look that was under way
  EXPECT_LT(watch(clock, 600ms), 10ms);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace reprise::cli
