#include "cli/job.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/process.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;

Job shell(const std::string& script) {
  return Job::start({{"/bin/sh", "-c", script}, {"PATH=/usr/bin:/bin", "WORD=hello"}, {}, {}});
}

TEST(Job, GivesTheWaitStatus) {
  EXPECT_EQ(exit_code(shell("exit 3").wait()), 3);
  EXPECT_EQ(exit_code(shell("kill -9 $$").wait()), 137);
  EXPECT_EQ(exit_code(shell("test $WORD = hello").wait()), 0);
}

TEST(Job, PollDoesNotBlock) {
  Job job = shell("sleep 0.2; exit 5");
  EXPECT_EQ(job.poll(), std::nullopt);
  EXPECT_EQ(exit_code(job.wait()), 5);
  EXPECT_TRUE(job.poll().has_value());
}

int start_failure(const std::string& program) {
  try {
    Job::start({{program}, {}, {}, {}});
  } catch (const UserError& error) {
    return error.status();
  }
  return 0;
}

TEST(Job, CommandsThatCannotBeStarted) {
  EXPECT_EQ(start_failure("/nonexistent/program"), 127);
  EXPECT_EQ(start_failure("/etc/passwd"), 126);
}

TEST(Job, OrphansComeToUsAndAreEnded) {
  Job job = shell("sleep 1000 & exit 1");
  EXPECT_EQ(exit_code(job.wait()), 1);
  EXPECT_FALSE(job.await_descendants(100ms));
  EXPECT_EQ(descendants_of(::getpid()).size(), 1u);
  job.terminate();
  EXPECT_TRUE(descendants_of(::getpid()).empty());
  ASSERT_EQ(job.reaped().size(), 2u);
  EXPECT_EQ(job.reaped()[1].wait_status, SIGTERM);
}

TEST(Job, TheStubbornAreKilled) {
  Job job = shell("trap '' TERM; echo > /dev/null; while :; do sleep 0.1; done");
  std::this_thread::sleep_for(200ms);
  job.terminate();
  EXPECT_EQ(exit_code(*job.poll()), 137);
}

TEST(Job, SignalsAreHandedOn) {
  Job job = shell("trap 'exit 7' TERM; while :; do sleep 0.05; done");
  std::this_thread::sleep_for(200ms);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(exit_code(job.wait()), 7);
  EXPECT_EQ(Job::received_signal(), SIGTERM);
}

}  // namespace
}  // namespace reprise::cli
