#include "analyze/call_filter.hpp"

#include <gtest/gtest.h>

#include "synthetic_run.hpp"

namespace reprise::analyze {
namespace {

TEST(NumberSet, ListsAndRanges) {
  const auto set = NumberSet::parse("0,3-5,100-");
  ASSERT_TRUE(set);
  for (const unsigned in : {0u, 3u, 5u, 100u, 1000000u}) EXPECT_TRUE(set->contains(in)) << in;
  for (const unsigned out : {1u, 2u, 6u, 99u}) EXPECT_FALSE(set->contains(out)) << out;
  EXPECT_TRUE(NumberSet::parse("-7")->contains(0));
  EXPECT_FALSE(NumberSet::parse("-7")->contains(8));
}

TEST(NumberSet, EverythingElseIsRefused) {
  for (const char* text : {"", ",", "a", "1,", "3-1", "-", "1-2-3", "0x1", " 1", "99999999999999999999", "1,,2"})
    EXPECT_FALSE(NumberSet::parse(text)) << text;
}

TEST(CallFilter, FunctionsByGlob) {
  EXPECT_TRUE(call_fits("MPI_Irecv", "MPI_*recv"));
  EXPECT_TRUE(call_fits("MPI_Recv", "MPI_*recv"));
  EXPECT_TRUE(call_fits("MPI_Recv", "recv"));
  EXPECT_TRUE(call_fits("reprise_event", "reprise_event"));
  EXPECT_FALSE(call_fits("MPI_Recv_init", "*recv"));
  EXPECT_FALSE(call_fits("MPI_Send", "recv"));
}

TEST(CallFilter, PlacesByTheEndOfTheirPath) {
  SourceLine at;
  at.file = "/home/me/src/solver.c";
  at.line = 12;
  const auto fits = [&](const char* text) { return place_fits(at, parse_places(text)->front()); };
  EXPECT_TRUE(fits("solver.c"));
  EXPECT_TRUE(fits("src/solver.c:12"));
  EXPECT_TRUE(fits("solver.c:10-20"));
  EXPECT_FALSE(fits("solver.c:13"));
  EXPECT_FALSE(fits("olver.c"));
  EXPECT_FALSE(fits("me/solver.c"));
  at = {};
  at.module = "/opt/app";
  EXPECT_TRUE(fits("app"));
  EXPECT_FALSE(fits("app:12"));
  for (const char* text : {"", ":12", "solver.c:", "solver.c:x", "a,,b"}) EXPECT_FALSE(parse_places(text)) << text;
}

TEST(CallFilter, CommunicatorsAndTagsAreChecked) {
  EXPECT_EQ(parse_communicators("world,self,2")->size(), 3u);
  EXPECT_EQ(parse_communicators("@3FA9")->front().uid, "3fa9");
  for (const char* text : {"", "@", "@xyz", "comm", "-1", "@0123456789abcdef0"})
    EXPECT_FALSE(parse_communicators(text)) << text;
  EXPECT_TRUE(parse_values("ANY")->any);
  EXPECT_TRUE(parse_values("any,5")->numbers.contains(5));
  for (const char* text : {"", "anyone", "any,"}) EXPECT_FALSE(parse_values(text)) << text;
}

// The numbers of the calls of rank 0 that pass.
std::vector<std::uint64_t> passing(const SyntheticRun& run, const CallFilter& filter) {
  SourceLines lines;
  auto timeline = Timeline::open(run.fd(), 0, trace::kTestTrace);
  EXPECT_TRUE(timeline);
  CallMatcher matcher(filter, *timeline, lines);
  std::vector<std::uint64_t> numbers;
  Call call;
  for (;;) {
    const auto have = timeline->next(call);
    EXPECT_TRUE(have);
    if (!have || !*have) return numbers;
    if (matcher.matches(call)) numbers.push_back(call.number);
  }
}

class CallMatcherTest : public testing::Test {
 protected:
  void SetUp() override {
    const int half[] = {0, 2};
    const int both[] = {0, 2, 1, 3};
    run.rank(0).define_communicator({0, 0xabcd000000000000, "MPI_Comm_split", 0, 0, half});
    run.rank(0).define_communicator({2, 0x1234000000000000, "MPI_Intercomm_create", 0, 0, both, 2});
    run.call(0, kSend, {0, 3, 7, 8});     // 0
    run.receive_any(0, 2, 7);             // 1
    run.receive_any(0, 1, 9);             // 2
    run.call(0, kSend, {2, 1, 5, 8});     // 3: to world rank 2
    run.call(0, kSend, {3, 1, 6, 8});     // 4: to rank 1 of the remote group, world rank 3
    run.call(0, kBarrier, {2, 0, 0, 0});  // 5
    run.receive_any(0, 1, 0, 2);          // 6: from world rank 2
    run.call(0, kRecv, {0, 0, 0, 8});     // 7: a named source and tag 0
    run.rank(0).named_event("here", nullptr);   // 8
    run.finish();
  }
  using Numbers = std::vector<std::uint64_t>;
  SyntheticRun run{4};
  CallFilter filter;
};

TEST_F(CallMatcherTest, NothingGivenPassesAll) { EXPECT_EQ(passing(run, filter).size(), 9u); }

TEST_F(CallMatcherTest, TagsAsAskedForOrReceived) {
  filter.tags = *parse_values("7");
  EXPECT_EQ(passing(run, filter), (Numbers{0, 1}));
  filter.tags = *parse_values("0");  // the barrier has no tag, so its 0 is none; nor is an event's number
  EXPECT_EQ(passing(run, filter), (Numbers{6, 7}));
  filter.tags = *parse_values("any");
  EXPECT_EQ(passing(run, filter), (Numbers{1, 2, 6}));
}

TEST_F(CallMatcherTest, PeersAreWorldRanksInEveryCommunicator) {
  filter.peers = *parse_values("2");
  EXPECT_EQ(passing(run, filter), (Numbers{1, 3, 6}));
  filter.peers = *parse_values("3");
  EXPECT_EQ(passing(run, filter), (Numbers{0, 4}));
  filter.peers = *parse_values("any");
  EXPECT_EQ(passing(run, filter), (Numbers{1, 2, 6}));
}

TEST_F(CallMatcherTest, CommunicatorsByNumberAndUid) {
  filter.communicators = *parse_communicators("2");
  EXPECT_EQ(passing(run, filter), (Numbers{3, 5, 6}));
  filter.communicators = *parse_communicators("@abcd");
  EXPECT_EQ(passing(run, filter), (Numbers{3, 5, 6}));
  filter.communicators = *parse_communicators("world");
  EXPECT_EQ(passing(run, filter), (Numbers{0, 1, 2, 7}));
  filter.communicators = *parse_communicators("9,@ffff");
  EXPECT_EQ(passing(run, filter), Numbers{});
}

TEST_F(CallMatcherTest, FiltersCombine) {
  filter.calls = {"recv", "barrier"};
  EXPECT_EQ(passing(run, filter), (Numbers{1, 2, 5, 6, 7}));
  filter.events = *NumberSet::parse("2-6");
  EXPECT_EQ(passing(run, filter), (Numbers{2, 5, 6}));
  filter.communicators = *parse_communicators("2");
  EXPECT_EQ(passing(run, filter), (Numbers{5, 6}));
  filter.peers = *parse_values("2");
  EXPECT_EQ(passing(run, filter), (Numbers{6}));
}

}  // namespace
}  // namespace reprise::analyze
