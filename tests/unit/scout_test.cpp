#include "engine/scout.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

using reprise::engine::g_scouting;
using reprise::engine::scout_found;
using reprise::engine::ScoutReport;
using reprise::engine::send_scout;

namespace {

volatile int g_number = 1;

template <class Path>
ScoutReport ahead(Path path) {
  const auto report = send_scout();
  if (!report) path();
  return *report;
}

// AddressSanitizer opens a file before it calls a function that does not return, and that ends a scout.
#ifdef __SANITIZE_ADDRESS__
#define SKIP_WITH_ADDRESS_SANITIZER() GTEST_SKIP() << "AddressSanitizer opens files of its own, which ends a scout"
#else
#define SKIP_WITH_ADDRESS_SANITIZER() (void)0
#endif

TEST(Scout, SaysWhetherTheNextCallFits) {
  SKIP_WITH_ADDRESS_SANITIZER();
  EXPECT_EQ(ahead([] { scout_found(true); }), ScoutReport::Fits);
  EXPECT_EQ(ahead([] { scout_found(false); }), ScoutReport::Differs);
  EXPECT_FALSE(g_scouting);
}

TEST(Scout, ChangesNothing) {
  SKIP_WITH_ADDRESS_SANITIZER();
  EXPECT_EQ(ahead([] {
              g_number = 2;
              scout_found(g_number == 2);
            }),
            ScoutReport::Fits);
  EXPECT_EQ(g_number, 1);
}

// The wrappers ask for it on their way to the call. Architectures have different system calls for that.
TEST(Scout, MayAskWhatTheProgramIs) {
  SKIP_WITH_ADDRESS_SANITIZER();
  EXPECT_EQ(ahead([] {
              char program[64];
              scout_found(readlink("/proc/self/exe", program, sizeof program) > 0);
            }),
            ScoutReport::Fits);
}

TEST(Scout, IsStoppedBeforeAnybodyNotices) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(ahead([&] {
              if (write(ends[1], "x", 1) == 1) scout_found(true);
              scout_found(false);
            }),
            ScoutReport::Stopped);
  close(ends[1]);
  char byte;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);
  close(ends[0]);
}

TEST(Scout, MayCrashOrEnd) {
  EXPECT_EQ(ahead([] { raise(SIGKILL); }), ScoutReport::Stopped);  // by its first step: a signal to somebody
  EXPECT_EQ(ahead([] { syscall(SYS_exit_group, 0); }), ScoutReport::Lost);
  EXPECT_EQ(ahead([] {
              for (;;) g_number = g_number;  // until its time is over
            }),
            ScoutReport::Lost);
}

TEST(Scout, IsNoChildOfTheProgram) {
  SKIP_WITH_ADDRESS_SANITIZER();
  static int signals = 0;
  const auto before = signal(SIGCHLD, [](int) { ++signals; });
  EXPECT_EQ(ahead([] { scout_found(true); }), ScoutReport::Fits);
  EXPECT_EQ(signals, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  signal(SIGCHLD, before);
}

}  // namespace
