#include "analyze/run_summary.hpp"

#include <gtest/gtest.h>

#include "synthetic_run.hpp"

namespace reprise::analyze {
namespace {

RunSummary summary_of(const SyntheticRun& run, const CallFilter& filter = {}) {
  SourceLines lines;
  const RunEnd end = run.end();
  Summarizer summarizer(end.world, filter, lines);
  for (const RankEnd& rank : end.ranks) EXPECT_TRUE(summarizer.add(run.fd(), trace::kTestTrace, rank));
  return summarizer.finish();
}

Traffic traffic(const RunSummary& summary, std::uint32_t from, std::uint32_t to) {
  for (const Pair& pair : summary.matrix.pairs)
    if (pair.from == from && pair.to == to) return pair.traffic;
  return {};
}

TEST(RunSummary, MessagesGoToWorldRanks) {
  SyntheticRun run(4);
  const int half[] = {3, 1};
  const int both[] = {1, 3, 0, 2};
  run.rank(1).define_communicator({0, 77, "MPI_Comm_split", 0, 1, half});
  run.rank(1).define_communicator({2, 78, "MPI_Intercomm_create", 0, 0, both, 2});
  for (int i = 0; i < 1000; ++i) run.call(1, kSend, {0, 0, 7, 8});
  run.call(1, kSend, {2, 0, 7, 100});                 // 3
  run.call(1, kSend, {3, 1, 7, 200});                 // 2, in the remote group
  run.call(1, kSend, {engine::kNoComm, 0, 7, 10});    // who knows
  run.call(1, kSend, {0, engine::kProcNull, 7, 10});  // nobody
  run.call(1, kSendInit, {0, 0, 7, 10});              // nothing is sent by this
  run.call(1, kStart, {});
  run.call(0, kRecv, {0, 1, 7, 8});
  run.finish();
  const RunSummary summary = summary_of(run);
  EXPECT_EQ(summary.sent.messages, 1003u);
  EXPECT_EQ(summary.sent.bytes, 8000u + 100 + 200 + 10);
  EXPECT_EQ(summary.to_unknown, 1u);
  EXPECT_EQ(summary.persistent_starts, 1u);
  EXPECT_TRUE(summary.matrix.complete);
  EXPECT_EQ(summary.matrix.pairs.size(), 3u);
  EXPECT_EQ(traffic(summary, 1, 0).messages, 1000u);
  EXPECT_EQ(traffic(summary, 1, 3).bytes, 100u);
  EXPECT_EQ(traffic(summary, 1, 2).bytes, 200u);
  ASSERT_EQ(summary.ranks.size(), 2u);
  EXPECT_EQ(summary.ranks[0].received.messages, 1000u);
  EXPECT_EQ(summary.ranks[1].sent.messages, 1002u);
  EXPECT_EQ(summary.ranks[1].calls, 1006u);
  EXPECT_EQ(summary.functions.at("MPI_Send").calls, 1004u);
  EXPECT_EQ(summary.functions.at("MPI_Recv").ranks, 1u);
}

TEST(RunSummary, RacingLines) {
  SyntheticRun run(4);
  for (std::uint32_t i = 0; i < 30; ++i) run.receive_any(0, 1 + i % 3, 5);
  for (std::uint32_t i = 0; i < 10; ++i) run.receive_any(1, 0, 5);
  run.poll(0, 7, true);
  run.poll(0, 2, false);
  for (int i = 0; i < 4; ++i) {
    run.enter(2, kWaitany, {});
    const int index[] = {i % 2};
    run.rank(2).indices(std::span<const int>(index), false);
    run.rank(2).returned();
  }
  run.finish();
  const RunSummary summary = summary_of(run);
  ASSERT_EQ(summary.racing.size(), 3u);
  const RacingSite& receives = summary.racing[0];
  EXPECT_EQ(receives.function, "MPI_Recv");
  EXPECT_EQ(receives.receives, 40u);
  EXPECT_EQ(receives.ranks, 2u);
  EXPECT_EQ(receives.senders.size(), 4u);
  EXPECT_EQ(receives.most_senders, 3u);
  EXPECT_TRUE(receives.varied());
  EXPECT_EQ(summary.racing[1].function, "MPI_Waitany");
  EXPECT_EQ(summary.racing[1].completions, 4u);
  EXPECT_EQ(summary.racing[1].indices.size(), 2u);
  EXPECT_EQ(summary.racing[2].polls, 2u);
  EXPECT_EQ(summary.racing[2].failed_polls, 9u);
  EXPECT_EQ(summary.failed_polls, 9u);
}

TEST(RunSummary, OneSenderIsNoRace) {
  SyntheticRun run(3);
  for (std::uint32_t rank = 1; rank < 3; ++rank)
    for (int i = 0; i < 5; ++i) run.receive_any(rank, rank - 1, 5);
  run.finish();
  const RunSummary summary = summary_of(run);
  ASSERT_EQ(summary.racing.size(), 1u);
  EXPECT_EQ(summary.racing[0].senders.size(), 2u);  // one for each rank
  EXPECT_FALSE(summary.racing[0].varied());
}

TEST(RunSummary, ManyRanksAreTakenTogether) {
  constexpr std::uint32_t kWorld = 100;
  SyntheticRun run(kWorld);
  for (std::uint32_t rank = 0; rank < kWorld; ++rank)
    for (std::uint32_t other = 0; other < kWorld; ++other)
      if (other != rank) run.call(rank, kSend, {0, other, 1, rank == 42 && other == 7 ? 1000 : 10});
  run.finish();
  const RunSummary summary = summary_of(run);
  EXPECT_EQ(summary.sent.messages, kWorld * (kWorld - 1));
  EXPECT_FALSE(summary.matrix.complete);
  EXPECT_EQ(summary.matrix.pairs.size(), TrafficMatrix::kTopPairs);
  EXPECT_EQ(summary.matrix.pairs[0].from, 42u);
  EXPECT_EQ(summary.matrix.pairs[0].to, 7u);
  EXPECT_EQ(summary.matrix.group_size, 7u);
  EXPECT_LE(summary.matrix.group_pairs.size(), TrafficMatrix::kGroups * TrafficMatrix::kGroups);
  std::uint64_t total = 0;
  for (const Pair& pair : summary.matrix.group_pairs) total += pair.traffic.messages;
  EXPECT_EQ(total, summary.sent.messages);
}

TEST(RunSummary, EventsAndFilters) {
  SyntheticRun run(2);
  for (int i = 0; i < 3; ++i) run.rank(0).named_event("step", nullptr);
  run.rank(1).named_event("step", nullptr);
  run.rank(1).named_event("end", nullptr);
  run.call(1, kSend, {0, 0, 1, 8});
  run.finish();
  const RunSummary all = summary_of(run);
  EXPECT_EQ(all.events.at("step"), 4u);
  EXPECT_EQ(all.events.at("end"), 1u);
  CallFilter filter;
  filter.calls = {"send"};
  const RunSummary some = summary_of(run, filter);
  EXPECT_EQ(some.calls, 1u);
  EXPECT_EQ(some.functions.size(), 1u);
  EXPECT_TRUE(some.events.empty());
}

TEST(RunSummary, ADamagedLogIsSaidAndTheOthersAreCounted) {
  SyntheticRun run(2);
  run.call(0, kSend, {0, 1, 1, 8});
  run.call(1, kSend, {0, 0, 1, 8});
  run.finish();
  auto bytes = run.directory().read("rank-0.log");
  bytes[bytes.size() / 2] ^= 1;
  run.directory().write("rank-0.log", bytes);
  SourceLines lines;
  const CallFilter filter;
  Summarizer summarizer(2, filter, lines);
  const RunEnd end = run.end();
  EXPECT_FALSE(summarizer.add(run.fd(), trace::kTestTrace, end.ranks[0]));
  EXPECT_TRUE(summarizer.add(run.fd(), trace::kTestTrace, end.ranks[1]));
  const RunSummary summary = summarizer.finish();
  EXPECT_NE(summary.ranks[0].trouble.find("rank-0.log: damaged at offset"), std::string::npos);
  EXPECT_EQ(summary.sent.messages, 1u);
}

}  // namespace
}  // namespace reprise::analyze
