#include "analyze/run_end.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace reprise::analyze {
namespace {

using trace::EndKind;

constexpr int exited(int status) { return status << 8; }

RankEnd rank_end(std::uint32_t rank, EndKind kind = EndKind::Running, int value = 0) {
  RankEnd end;
  end.rank = rank;
  end.host = "node";
  end.pid = static_cast<pid_t>(100 + rank);
  end.end.kind = kind;
  end.end.value = value;
  return end;
}

Exit exit_of(std::uint32_t rank, int status) { return {"node", static_cast<pid_t>(100 + rank), status, false}; }

RunEnd judged(std::vector<RankEnd> ranks, std::uint32_t world, std::vector<Exit> exits, int launcher_status) {
  exits.push_back({"node", 99, launcher_status, true});
  return judge_run_end(std::move(ranks), world, exits);
}

TEST(RunEnd, ExitsAreReadLineByLine) {
  const auto exits = parse_exits("node 12 9\nnode 13 256\nbroken\nnode x 1\nnode 14");
  ASSERT_EQ(exits.size(), 2u);
  EXPECT_EQ(exits[1].pid, 13);
  EXPECT_EQ(exits[1].wait_status, 256);
  const auto again = parse_exits(exit_line({"node", 7, 9, true}));
  ASSERT_EQ(again.size(), 1u);
  EXPECT_TRUE(again[0].launcher);
}

TEST(RunEnd, NothingHappened) {
  const auto end =
      judged({rank_end(0, EndKind::Finalized), rank_end(1, EndKind::Finalized)}, 2, {exit_of(1, 0), exit_of(0, 0)}, 0);
  EXPECT_EQ(end.words, "exit status 0");
  EXPECT_EQ(end.cause, std::nullopt);
  EXPECT_TRUE(end.missing.empty());
}

TEST(RunEnd, TheKilledRankNotTheOnesTheLauncherTookDown) {
  const auto end = judged({rank_end(0), rank_end(1), rank_end(2)}, 3,
                          {exit_of(2, SIGKILL), exit_of(0, SIGTERM), exit_of(1, SIGTERM)}, exited(137));
  EXPECT_EQ(end.words, "SIGKILL of rank 2");
  EXPECT_EQ(end.cause, 2u);
}

TEST(RunEnd, LaunchersThatKillHard) {
  const auto exit = judged({rank_end(0), rank_end(1), rank_end(2)}, 3,
                           {exit_of(0, SIGKILL), exit_of(1, exited(3)), exit_of(2, SIGKILL)}, exited(3));
  EXPECT_EQ(exit.words, "exit status 3 of rank 1");
  std::vector<RankEnd> ranks = {rank_end(0), rank_end(1), rank_end(2)};
  for (RankEnd& rank : ranks) rank.end.in_call = true;
  const std::vector<Exit> kills = {exit_of(0, SIGKILL), exit_of(1, SIGKILL), exit_of(2, SIGKILL)};
  EXPECT_EQ(judged(ranks, 3, kills, exited(9)).words, "SIGKILL of 3 ranks");
  EXPECT_EQ(judged(ranks, 3, kills, exited(9)).cause, std::nullopt);
  ranks[1].end.in_call = false;  // the others waited for it
  EXPECT_EQ(judged(ranks, 3, kills, exited(9)).words, "SIGKILL of rank 1");
}

TEST(RunEnd, ACrashOutweighsAnEarlierKill) {
  const auto end = judged({rank_end(0), rank_end(1)}, 2, {exit_of(0, SIGKILL), exit_of(1, SIGSEGV)}, exited(139));
  EXPECT_EQ(end.words, "SIGSEGV of rank 1");
}

TEST(RunEnd, AbortIsNamedAsSuch) {
  const auto end = judged({rank_end(0), rank_end(1, EndKind::Aborted, 3)}, 2,
                          {exit_of(0, SIGKILL), exit_of(1, exited(3))}, exited(3));
  EXPECT_EQ(end.words, "MPI_Abort(3) by rank 1");
}

TEST(RunEnd, AKilledLauncher) {
  const auto end = judged({rank_end(0), rank_end(1)}, 2, {exit_of(0, SIGTERM)}, SIGKILL);
  EXPECT_EQ(end.words, "launcher ended by SIGKILL");
  EXPECT_EQ(end.cause, std::nullopt);
}

TEST(RunEnd, ASingleProcessIsItsOwnLauncher) {
  Exit only = exit_of(0, SIGKILL);
  only.launcher = true;
  EXPECT_EQ(judge_run_end({rank_end(0)}, 1, {only}).words, "SIGKILL of rank 0");
  // A rank that died the same way as its launcher is another matter.
  EXPECT_EQ(judged({rank_end(0)}, 1, {exit_of(0, SIGKILL)}, SIGKILL).words, "launcher ended by SIGKILL");
}

TEST(RunEnd, RanksWithoutALogAreMissing) {
  const auto end = judged({rank_end(3, EndKind::Stopped, 28), rank_end(1)}, 5, {}, exited(1));
  EXPECT_EQ(end.missing, (std::vector<std::uint32_t>{0, 2, 4}));
  EXPECT_EQ(end.stopped, (std::vector<std::uint32_t>{3}));
  EXPECT_EQ(end.words, "rank 1 was cut off (exit status 1)");
}

TEST(RunEnd, WhenNobodySawAnEndNobodyIsBlamed) {
  const auto end = judged({rank_end(0), rank_end(1), rank_end(2, EndKind::Finalized)}, 3, {}, exited(9));
  EXPECT_EQ(end.words, "2 ranks were cut off (exit status 9)");
  EXPECT_EQ(end.cause, std::nullopt);
}

TEST(RunEnd, RanksThatWereAllToldToGo) {
  const auto end = judged({rank_end(0), rank_end(1)}, 2, {exit_of(0, SIGTERM), exit_of(1, SIGTERM)}, exited(1));
  EXPECT_EQ(end.words, "SIGTERM of 2 ranks");
  EXPECT_EQ(end.cause, std::nullopt);
}

TEST(RunEnd, WithoutALauncherLineTheRanksStillSpeak) {
  EXPECT_EQ(judge_run_end({rank_end(0)}, 1, {exit_of(0, SIGKILL)}).words, "SIGKILL of rank 0");
  EXPECT_EQ(judge_run_end({rank_end(0, EndKind::Finalized)}, 1, {}).words, "end not seen");
}

TEST(RunEnd, RankWordsAndCodes) {
  EXPECT_EQ(rank_end_words(rank_end(0, EndKind::Finalized)), "finalized");
  EXPECT_EQ(rank_end_words(rank_end(0, EndKind::Exited, 4)), "exit status 4");
  EXPECT_EQ(rank_end_words(rank_end(0)), "cut off");
  EXPECT_EQ(rank_exit_code(rank_end(0)), std::nullopt);
  RankEnd killed = rank_end(0);
  killed.wait_status = SIGKILL;
  EXPECT_EQ(rank_exit_code(killed), 137);
  EXPECT_EQ(rank_end_words(killed), "SIGKILL");
}

}  // namespace
}  // namespace reprise::analyze
