#include "cli/monitor.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <fmt/format.h>

#include <chrono>

#include "base/text.hpp"
#include "cli/watch_replay.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
using engine::RankState;

constexpr std::uint64_t kCalls = 10;
constexpr Patience kPatience{200ms, 60s, 60s, 60s};

// One rank's end of the connection. Tests speak its lines.
class Rank {
 public:
  Rank(const Monitor& monitor, unsigned number, unsigned ranks)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const auto parts = split(monitor.address(), ':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(parse_number(parts.at(1)).value()));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    hello_ = fmt::format("hello {} {} {} 1\n", parts.at(2), number, ranks);
    ended_ = fmt::format("ended {} 1 {}\n", parts.at(2), SIGKILL);
  }

  const std::string& hello() const { return hello_; }
  // What its launcher says, over a connection of its own, when a signal has ended it.
  const std::string& ended() const { return ended_; }
  void say(const std::string& text) {
    EXPECT_EQ(::send(socket_.get(), text.data(), text.size(), 0), ssize_t(text.size()));
  }
  static std::string at(std::uint64_t event, RankState state) {
    return fmt::format("at {} {} -1\n", event, static_cast<unsigned>(state));
  }

 private:
  UniqueFd socket_;
  std::string hello_;
  std::string ended_;
};

Monitor monitor_of(std::size_t ranks) {
  return Monitor(std::vector<Monitor::Log>(ranks, {kCalls, false, false}), false, kPatience);
}

// A verdict, if there is one within a few seconds.
std::optional<Verdict> verdict_of(Monitor& monitor) {
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (std::chrono::steady_clock::now() < until)
    if (auto verdict = monitor.step(10ms)) return verdict;
  return std::nullopt;
}

TEST(Monitor, EndsWhenAllRanksWaitAtTheirEnds) {
  Monitor monitor = monitor_of(2);
  Rank first(monitor, 0, 2);
  Rank second(monitor, 1, 2);
  first.say(first.hello());
  second.say(second.hello());
  first.say(Rank::at(kCalls, RankState::Holding));
  second.say(Rank::at(kCalls, RankState::LastCall));
  const auto verdict = verdict_of(monitor);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, Verdict::Kind::Ended);
}

// It says nothing more, so nothing else would make the monitor look at it.
TEST(Monitor, HearsWhatCameTogetherWithTheGreeting) {
  Monitor monitor = monitor_of(1);
  Rank rank(monitor, 0, 1);
  rank.say(rank.hello() + Rank::at(kCalls, RankState::Holding));
  const auto verdict = verdict_of(monitor);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, Verdict::Kind::Ended);
}

TEST(Monitor, HearsLinesThatComeInPieces) {
  Monitor monitor = monitor_of(1);
  Rank rank(monitor, 0, 1);
  const std::string text = rank.hello() + Rank::at(kCalls, RankState::Holding);
  for (const char c : text) {
    rank.say(std::string(1, c));
    monitor.step(1ms);
  }
  EXPECT_TRUE(monitor.any_connected());
  EXPECT_EQ(monitor.ranks()[0].state, RankState::Holding);
}

TEST(Monitor, WhoDoesNotKnowTheTokenIsNobody) {
  Monitor monitor = monitor_of(1);
  Rank rank(monitor, 0, 1);
  rank.say("hello 00000000000000000000000000000000 0 1 1\n");
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(monitor.step(5ms));
  EXPECT_FALSE(monitor.any_connected());
}

TEST(Monitor, AnotherNumberOfRanksIsTrouble) {
  Monitor monitor = monitor_of(2);
  Rank rank(monitor, 0, 3);
  rank.say(rank.hello());
  const auto verdict = verdict_of(monitor);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, Verdict::Kind::Trouble);
}

TEST(Monitor, ARankThatIsGoneBeforeItsEndIsLost) {
  Monitor monitor = monitor_of(1);
  {
    Rank rank(monitor, 0, 1);
    rank.say(rank.hello() + Rank::at(3, RankState::InCall));
  }
  const auto verdict = verdict_of(monitor);
  ASSERT_TRUE(verdict);
  EXPECT_EQ(verdict->kind, Verdict::Kind::Lost);
}

// The rank is seen to be gone first, and then its launcher has ended, too, before anybody listens to what that has said.
TEST(Monitor, WhatALauncherSaidBeforeItEndedIsHeard) {
  Monitor monitor = monitor_of(2);
  Rank other(monitor, 1, 2);
  other.say(other.hello());
  {
    Rank rank(monitor, 0, 2);
    rank.say(rank.hello() + Rank::at(3, RankState::InCall));
  }
  const auto verdict = verdict_of(monitor);
  ASSERT_TRUE(verdict);
  ASSERT_EQ(verdict->kind, Verdict::Kind::Lost);
  {
    Rank launcher(monitor, 0, 2);
    launcher.say(launcher.ended());
  }
  Job job = Job::start({{"/bin/true"}, {}, {}, {}});
  job.wait();
  EXPECT_TRUE(hear_how_it_ended(job, monitor, 0));
  EXPECT_EQ(monitor.end_of(0), SIGKILL);
}

// On another node something else may listen at the loopback address.
TEST(Monitor, NamesTheLoopbackAddressLast) {
  const Monitor monitor(std::vector<Monitor::Log>(1), true, kPatience);
  EXPECT_TRUE(split(monitor.address(), ':').at(0).ends_with("127.0.0.1"));
}

}  // namespace
}  // namespace reprise::cli
