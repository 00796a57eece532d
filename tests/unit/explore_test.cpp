// The matcher and the search, on programs that are lists of sends and receives: no processes, every order counted.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>

#include "explore/feasibility.hpp"
#include "explore/matcher.hpp"
#include "explore/search.hpp"

namespace reprise::explore {
namespace {

struct Statement {
  enum Kind { Send, Receive, Post, Wait, Probe, Poll } kind;
  int peer = kAnybody;
  int tag = kAnyTag;
  OperationId request = 0;  // of Post, and of Wait for it
};
using Program = std::vector<std::vector<Statement>>;

// One run: ranks do what they can, then choices are made as given, and then always the first, or as a guide says.
class Play {
 public:
  Play(const Program& program, Buffering buffering, Guide* guide = nullptr)
      : program_(program),
        guide_(guide),
        matcher_(static_cast<int>(program.size()), buffering, 100),
        at_(program.size()) {}

  RunResult run(const std::vector<std::uint32_t>& given) {
    RunResult result;
    for (int rank = 0; rank < matcher_.ranks(); ++rank) go_on(rank);
    for (;;) {
      auto answers = matcher_.settle();
      while (answers.empty()) {
        auto choice = matcher_.next_choice();
        if (!choice) break;
        std::uint32_t option = 0;
        if (choice->options.size() > 1) {
          Step step{0, static_cast<std::uint32_t>(choice->options.size()), 0, {}, {}};
          const std::size_t depth = result.steps.size();
          if (guide_) step.tried = guide_->options({matcher_, *choice, depth, depth, given.size()});
          if (guide_ && step.tried.empty()) {
            result.counts = false;
            return result;
          }
          option = depth < given.size() ? given[depth] : guide_ ? step.tried.front() : 0;
          step.option = option;
          result.steps.push_back(std::move(step));
        }
        answers = matcher_.apply(*choice, choice->options[option]);
        if (answers.empty()) answers = matcher_.settle();
      }
      if (answers.empty()) break;
      for (const Answer& answer : answers) go_on(answer.rank);
    }
    result.counts = matcher_.is_possible();
    for (int rank = 0; rank < matcher_.ranks(); ++rank) {
      std::vector<std::string> taken;
      for (const int number : matcher_.receives_of(rank)) {
        const Receive& receive = matcher_.receives()[static_cast<std::size_t>(number)];
        if (receive.took < 0) taken.emplace_back("-");
        else taken.push_back(std::to_string(matcher_.messages()[static_cast<std::size_t>(receive.took)].source));
      }
      result.taken.push_back(std::move(taken));
      if (matcher_.asks(rank)) result.blocked.push_back(rank);
    }
    return result;
  }

 private:
  void go_on(int rank) {
    const auto& statements = program_[static_cast<std::size_t>(rank)];
    std::size_t& at = at_[static_cast<std::size_t>(rank)];
    while (at < statements.size()) {
      const Statement& now = statements[at++];
      const OperationId id = now.request != 0 ? now.request : next_++;
      Question question;
      question.operations = {id};
      switch (now.kind) {
        case Statement::Send: {
          Message message;
          message.dest = now.peer;
          message.tag = now.tag == kAnyTag ? 0 : now.tag;
          matcher_.send(rank, id, message, SendMode::Standard);
          break;
        }
        case Statement::Receive: matcher_.receive(rank, id, {0, now.peer, now.tag}, 0, 0); break;
        case Statement::Post: matcher_.receive(rank, id, {0, now.peer, now.tag}, 0, 0); continue;
        case Statement::Wait: break;
        case Statement::Probe:
        case Statement::Poll:
          question.operations.clear();
          question.kind = Question::Kind::Probe;
          question.wanted = {0, now.peer, now.tag};
          question.may_say_no = now.kind == Statement::Poll;
          question.site = at;
          break;
      }
      matcher_.ask(rank, std::move(question));
      return;
    }
    matcher_.ended(rank);
  }

  const Program& program_;
  Guide* guide_;
  Matcher matcher_;
  std::vector<std::size_t> at_;
  OperationId next_ = 1000;
};

struct Found {
  std::uint64_t orders = 0;
  std::uint64_t different = 0;
  std::uint64_t deadlocks = 0;
  std::set<std::string> first_receives;  // of rank 0
};

Found explore(const Program& program, Buffering buffering, int workers = 1, Guide* guide = nullptr) {
  Found found;
  std::set<std::vector<std::vector<std::string>>> relations;
  Search search({}, [&](std::uint64_t, RunResult& result) {
    found.deadlocks += !result.blocked.empty();
    relations.insert(result.taken);
    std::string all;
    for (const std::string& one : result.taken[0]) all += one;
    found.first_receives.insert(all);
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < workers; ++i)
    threads.emplace_back([&] {
      search.work([&](const std::vector<std::uint32_t>& given) { return Play(program, buffering, guide).run(given); });
    });
  for (std::thread& thread : threads) thread.join();
  found.orders = search.totals().orders;
  found.different = relations.size();
  EXPECT_EQ(search.totals().open, 0u);
  return found;
}

Program racing(int senders) {
  Program program(static_cast<std::size_t>(senders) + 1);
  for (int i = 0; i < senders; ++i) {
    program[0].push_back({Statement::Receive});
    program[static_cast<std::size_t>(i) + 1].push_back({Statement::Send, 0});
  }
  return program;
}

TEST(Explore, RacingSendersComeInEveryOrder) {
  std::uint64_t expected = 1;
  for (int senders = 1; senders <= 5; ++senders) {
    expected *= static_cast<std::uint64_t>(senders);
    for (const Buffering buffering : {Buffering::None, Buffering::Infinite, Buffering::Mixed}) {
      const Found found = explore(racing(senders), buffering);
      EXPECT_EQ(found.orders, expected);
      EXPECT_EQ(found.different, expected);
      EXPECT_EQ(found.deadlocks, 0u);
    }
  }
}

TEST(Explore, WorkersShareTheSearch) {
  for (const int workers : {2, 4}) EXPECT_EQ(explore(racing(5), Buffering::Infinite, workers).orders, 120u);
}

TEST(Explore, AMessageThatAnotherWildcardReleasesMayComeFirst) {
  const Program program = {{{Statement::Receive}, {Statement::Receive}},
                           {{Statement::Send, 0}, {Statement::Send, 2}},
                           {{Statement::Receive}, {Statement::Send, 0}}};
  EXPECT_EQ(explore(program, Buffering::Infinite).first_receives, (std::set<std::string>{"12", "21"}));
}

TEST(Explore, ASpecificReceiveWaitsForTheWildcardBeforeIt) {
  const Program program = {{{Statement::Post, kAnybody, kAnyTag, 1},
                            {Statement::Post, 1, kAnyTag, 2},
                            {Statement::Wait, 0, 0, 1},
                            {Statement::Wait, 0, 0, 2}},
                           {{Statement::Send, 0}, {Statement::Send, 0}},
                           {{Statement::Send, 0}}};
  EXPECT_EQ(explore(program, Buffering::Infinite).first_receives, (std::set<std::string>{"11", "21"}));
}

// The later receive was seen complete before rank 2 sent: the earlier one cannot have been left for that message.
TEST(Explore, WhatWasSeenCannotBeLate) {
  const Program program = {{{Statement::Post, kAnybody, kAnyTag, 1},
                            {Statement::Post, 1, kAnyTag, 2},
                            {Statement::Wait, 0, 0, 2},
                            {Statement::Send, 2},
                            {Statement::Wait, 0, 0, 1}},
                           {{Statement::Send, 0}, {Statement::Send, 0}},
                           {{Statement::Receive}, {Statement::Send, 0}}};
  EXPECT_EQ(explore(program, Buffering::Infinite).first_receives, (std::set<std::string>{"11"}));
}

TEST(Explore, AProbedMessageIsThere) {
  const Program program = {{{Statement::Probe}, {Statement::Poll}, {Statement::Receive}}, {{Statement::Send, 0}}};
  EXPECT_EQ(explore(program, Buffering::Infinite).orders, 1u);
  const Program poll = {{{Statement::Poll}, {Statement::Receive}}, {{Statement::Send, 0}}};
  EXPECT_EQ(explore(poll, Buffering::Infinite).orders, 2u);
}

TEST(Explore, HeadToHeadDependsOnBuffering) {
  const Program program = {{{Statement::Send, 1}, {Statement::Receive, 1}},
                           {{Statement::Send, 0}, {Statement::Receive, 0}}};
  EXPECT_EQ(explore(program, Buffering::Infinite).deadlocks, 0u);
  EXPECT_EQ(explore(program, Buffering::None).deadlocks, 1u);
  const Found mixed = explore(program, Buffering::Mixed);
  EXPECT_EQ(mixed.deadlocks, 1u);
  EXPECT_EQ(mixed.orders, 2u);
}

TEST(Explore, ADeadlockThatOneOrderHas) {
  const Program program = {{{Statement::Receive}, {Statement::Receive, 1}, {Statement::Receive, 2}},
                           {{Statement::Send, 0}},
                           {{Statement::Send, 0}}};
  const Found found = explore(program, Buffering::Infinite);
  EXPECT_EQ(found.orders, 2u);
  EXPECT_EQ(found.deadlocks, 2u);
}

TEST(Explore, LimitsEndTheSearch) {
  const Program program = racing(5);
  Limits limits;
  limits.orders = 7;
  Search search(limits, [](std::uint64_t, RunResult&) {});
  search.work([&](const std::vector<std::uint32_t>& given) { return Play(program, Buffering::Infinite).run(given); });
  EXPECT_EQ(search.totals().orders, 7u);
  EXPECT_TRUE(search.totals().stopped);
}

TEST(Explore, ASearchGoesOnWhereAnotherStopped) {
  const Program program = racing(5);
  std::set<std::vector<std::vector<std::string>>> seen;
  std::uint64_t orders = 0;
  std::vector<std::vector<std::uint32_t>> left = {{}};
  while (!left.empty()) {
    Limits limits;
    limits.orders = 17;
    Search search(limits, [&](std::uint64_t, RunResult& result) { seen.insert(result.taken); });
    search.continue_with(left);
    search.work([&](const std::vector<std::uint32_t>& given) { return Play(program, Buffering::Infinite).run(given); });
    orders += search.totals().orders;
    left = search.left();
  }
  EXPECT_EQ(orders, 120u);
  EXPECT_EQ(seen.size(), 120u);
}

// --- smaller spaces --------------------------------------------------------------------------------------------------

std::uint64_t orders_with(const GuideOptions& options, const Program& program) {
  Guide guide(options);
  const Found found = explore(program, Buffering::Infinite, 1, &guide);
  EXPECT_EQ(found.orders, found.different);
  return found.orders;
}

TEST(Guide, WithoutAReductionEverythingIsTried) { EXPECT_EQ(orders_with({}, racing(4)), 24u); }

TEST(Guide, AFocusOnASenderTriesEveryPlaceOfIt) {
  GuideOptions options;
  options.focus.ranks = {2};
  EXPECT_EQ(orders_with(options, racing(4)), 4u);
  options.focus.ranks = {0};  // the receiver: that is everything
  EXPECT_EQ(orders_with(options, racing(4)), 24u);
}

TEST(Guide, ALoopBoundLeavesTheFirstTimes) {
  GuideOptions options;
  options.loop_bound = 1;
  EXPECT_EQ(orders_with(options, racing(4)), 4u);
  options.loop_bound = 2;
  EXPECT_EQ(orders_with(options, racing(4)), 12u);
}

TEST(Guide, BoundedMixingChangesOneDecisionAtATime) {
  GuideOptions options;
  options.mix = 0;
  EXPECT_EQ(orders_with(options, racing(4)), 1u + 3 + 2 + 1);
  options.mix = 9;
  EXPECT_EQ(orders_with(options, racing(4)), 24u);
}

TEST(Guide, SendersThatHaveDoneTheSameStandForEachOther) {
  GuideOptions options;
  options.symmetric_by_history = true;
  EXPECT_EQ(orders_with(options, racing(4)), 1u);
  options.symmetric_by_history = false;
  options.symmetric = {1, 2};  // 3 and 4 come as they like: 4! / 2!
  EXPECT_EQ(orders_with(options, racing(4)), 12u);
}

TEST(Guide, OnlyWhatIsDemanded) {
  GuideOptions options;
  Constraint third;
  third.rank = 0;
  third.source = 3;
  options.demanded = {third};
  Guide guide(options);
  const Found found = explore(racing(4), Buffering::Infinite, 1, &guide);
  EXPECT_EQ(found.orders, 6u);
  for (const std::string& all : found.first_receives) EXPECT_EQ(all[0], '3');
}

TEST(Guide, TheRecordedOrderComesFirst) {
  GuideOptions options;
  options.near = {{3, 1, 2}, {}, {}, {}};
  Guide guide(options);
  std::vector<std::string> firsts;
  const Program program = racing(3);
  Search search(
      {},
      [&](std::uint64_t, RunResult& result) {
        std::string all;
        for (const std::string& one : result.taken[0]) all += one;
        firsts.push_back(all);
      },
      true);
  search.work(
      [&](const std::vector<std::uint32_t>& given) { return Play(program, Buffering::Infinite, &guide).run(given); });
  ASSERT_EQ(firsts.size(), 6u);
  EXPECT_EQ(firsts[0], "312");
}

// A program that comes to other choices than it did before.
TEST(Explore, InstabilityIsNoticed) {
  const Program program = racing(3);
  std::uint64_t runs = 0;
  bool noticed = false;
  Search search({}, [&](std::uint64_t, RunResult& result) {
    for (const Problem& problem : result.problems) noticed |= problem.category == Category::Unstable;
  });
  search.work([&](const std::vector<std::uint32_t>& given) {
    RunResult result = Play(program, Buffering::Infinite).run(given);
    if (++runs > 2)
      for (Step& step : result.steps) step.digest = 1;
    return result;
  });
  EXPECT_TRUE(noticed);
}

}  // namespace
}  // namespace reprise::explore
