#include "analyze/blocked.hpp"

#include <gtest/gtest.h>

#include "synthetic_run.hpp"

namespace reprise::analyze {
namespace {

using Ranks = std::vector<std::uint32_t>;

// The logs are not closed: the run hangs, or was killed.
Blocked blocked_in(const SyntheticRun& run) {
  SourceLines lines;
  BlockedFinder finder(lines);
  const RunEnd end = run.end();
  for (const RankEnd& rank : end.ranks) EXPECT_TRUE(finder.add(run.fd(), trace::kTestTrace, rank));
  for (const std::uint32_t rank : end.missing) finder.add_without_log(rank);
  return finder.finish();
}

Ranks ranks_of(const PositionGroup& group) {
  Ranks ranks;
  for (const Position& position : group.ranks) ranks.push_back(position.rank);
  return ranks;
}

TEST(Blocked, TheOddOneOutComesFirst) {
  SyntheticRun run(6);
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    run.call(rank, kSend, {0, 0, 1, 8});
    if (rank != 3) run.enter(rank, kBarrier, {});
  }
  const Blocked blocked = blocked_in(run);
  ASSERT_EQ(blocked.groups.size(), 2u);
  EXPECT_EQ(ranks_of(blocked.groups[0]), (Ranks{3}));
  EXPECT_EQ(blocked.groups[0].ranks[0].place, RankPlace::Computing);
  EXPECT_EQ(blocked.groups[0].ranks[0].call->function, "MPI_Send");
  EXPECT_EQ(ranks_of(blocked.groups[1]), (Ranks{0, 1, 2, 4, 5}));
  EXPECT_EQ(blocked.groups[1].ranks[0].place, RankPlace::InCall);
  EXPECT_EQ(blocked.groups[1].missing, (Ranks{3}));
  EXPECT_TRUE(blocked.circles.empty());
}

TEST(Blocked, FinalizeWaitsForAll) {
  SyntheticRun run(3);
  run.enter(1, kFinalize, {});
  run.enter(2, kFinalize, {});
  run.call(0, kSend, {0, 1, 1, 8});
  const Blocked blocked = blocked_in(run);
  ASSERT_EQ(blocked.groups.size(), 2u);
  EXPECT_EQ(blocked.groups[1].missing, (Ranks{0}));
}

TEST(Blocked, ACircleOfReceives) {
  SyntheticRun run(5);
  for (std::uint32_t rank = 0; rank < 4; ++rank) run.enter(rank, kRecv, {0, (rank + 1) % 4, 1, 8});
  run.enter(4, kRecv, {0, 2, 1, 8});  // waits for one in the circle, but is not in it
  const Blocked blocked = blocked_in(run);
  ASSERT_EQ(blocked.groups.size(), 1u);
  EXPECT_EQ(blocked.groups[0].ranks[4].waits_for, 2u);
  ASSERT_EQ(blocked.circles.size(), 1u);
  EXPECT_EQ(blocked.circles[0], (Ranks{0, 1, 2, 3}));
}

TEST(Blocked, WaitingForRanksOfACommunicator) {
  SyntheticRun run(4);
  const int half[] = {1, 3};
  run.rank(1).define_communicator({0, 77, "MPI_Comm_split", 0, 0, half});
  run.enter(1, kRecv, {2, 1, 1, 8});
  run.enter(0, kRecv, {0, engine::kAnySource, 1, 8});
  run.rank(0).wildcard();
  const Blocked blocked = blocked_in(run);  // ranks 2 and 3 are still in MPI_Init
  ASSERT_EQ(blocked.groups.size(), 2u);
  EXPECT_EQ(blocked.groups[0].ranks[0].place, RankPlace::NotStarted);
  EXPECT_EQ(ranks_of(blocked.groups[0]), (Ranks{2, 3}));
  EXPECT_EQ(blocked.groups[1].ranks[0].waits_for, std::nullopt);
  EXPECT_EQ(blocked.groups[1].ranks[1].waits_for, 3u);
}

TEST(Blocked, RequestsPollsAndEnds) {
  SyntheticRun run(4);
  run.call(0, kIrecv, {0, 2, 9, 8});
  run.enter(0, kWait, {});
  run.poll(1, 50, false);
  run.poll(2, 3, true);  // has succeeded: the rank computes
  run.call(3, kFinalize, {});
  run.rank(3).writer().finish({trace::EndKind::Finalized, 0, false});
  const Blocked blocked = blocked_in(run);
  ASSERT_EQ(blocked.groups.size(), 4u);
  std::map<std::uint32_t, Position> by_rank;
  for (const PositionGroup& group : blocked.groups) by_rank[group.ranks[0].rank] = group.ranks[0];
  EXPECT_EQ(by_rank[0].place, RankPlace::InCall);
  ASSERT_TRUE(by_rank[0].posted);
  EXPECT_EQ(by_rank[0].posted->function, "MPI_Irecv");
  EXPECT_EQ(by_rank[0].posted->arguments[engine::kPeer], 2);
  EXPECT_EQ(by_rank[1].place, RankPlace::Polling);
  EXPECT_EQ(by_rank[1].failed_polls, 50u);
  EXPECT_EQ(by_rank[2].place, RankPlace::Computing);
  EXPECT_EQ(by_rank[3].place, RankPlace::Ended);
  EXPECT_EQ(by_rank[3].ended, "finalized");
}

TEST(Blocked, LongLogsAreReadToTheirLastCall) {
  SyntheticRun run(2);
  for (std::uint32_t i = 0; i < 400000; ++i)
    run.receive_any(0, (i * 7919u >> 3) % 2, static_cast<std::int32_t>(i % 100));
  run.enter(0, kRecv, {0, 1, 5, 8});
  const Blocked blocked = blocked_in(run);
  const Position& position =
      blocked.groups[0].ranks[0].rank == 0 ? blocked.groups[0].ranks[0] : blocked.groups[1].ranks[0];
  EXPECT_EQ(position.call->number, 400000u);
  EXPECT_EQ(position.waits_for, 1u);
}

}  // namespace
}  // namespace reprise::analyze
