#include "report/call_words.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace reprise::report {
namespace {

using analyze::Call;

TEST(CallWords, OnlyArgumentsThatTheFunctionHas) {
  const engine::Arguments zero{};
  EXPECT_TRUE(shown_arguments("MPI_Irecv", zero).tag);
  EXPECT_TRUE(shown_arguments("MPI_Send_c", zero).bytes);
  EXPECT_FALSE(shown_arguments("MPI_Iprobe", zero).bytes);
  EXPECT_TRUE(shown_arguments("MPI_Ibcast", zero).peer);
  EXPECT_FALSE(shown_arguments("MPI_Bcast", zero).tag);
  EXPECT_FALSE(shown_arguments("MPI_Barrier", zero).bytes);
  EXPECT_TRUE(shown_arguments("MPI_Barrier", zero).communicator);
  EXPECT_FALSE(shown_arguments("MPI_Allreduce", zero).peer);
  EXPECT_FALSE(shown_arguments("MPI_Wait", zero).communicator);
  EXPECT_TRUE(shown_arguments("MPI_Unheard_of", {0, 3, 0, 0}).peer);
}

TEST(CallWords, Outcomes) {
  Call call;
  EXPECT_EQ(outcome_words(call), "");
  call.wildcards = {{trace::kSourceBase + 3, 7}};
  EXPECT_EQ(outcome_words(call), "ANY -> 3 tag 7");
  call.wildcards = {{trace::kAmbiguous, 0}};
  EXPECT_EQ(outcome_words(call), "ANY -> ambiguous");
  call = Call{};
  call.poll = analyze::PollOutcome{117, true};
  EXPECT_EQ(outcome_words(call), "false x 117, then true");
  call.poll = analyze::PollOutcome{1, false};
  EXPECT_EQ(outcome_words(call), "false");
  call.poll = analyze::PollOutcome{0, true};
  call.reports_indices = true;
  call.indices = {2};
  EXPECT_EQ(outcome_words(call), "true; index 2");
  call = Call{};
  call.reports_indices = true;
  call.unfinished = true;
  EXPECT_EQ(outcome_words(call), "no active request; did not return");
}

TEST(CallWords, Reads) {
  Call call;
  call.read.emplace();
  call.read->numbers = {1, -2};
  EXPECT_EQ(outcome_words(call), "1 -2");
  call.read->numbers.clear();
  call.read->bytes = 16;
  EXPECT_EQ(outcome_words(call), "16 random bytes");
  call.read->error = EINVAL;
  EXPECT_EQ(outcome_words(call), "failed: Invalid argument");
  EXPECT_FALSE(shown_arguments("clock_gettime", {0, 0, 1, 0}).tag);
}

TEST(CallWords, Names) {
  EXPECT_EQ(communicator_words(0), "world");
  EXPECT_EQ(communicator_words(7), "comm 7");
  EXPECT_EQ(peer_words(engine::kAnySource), "ANY");
  EXPECT_EQ(peer_words(12), "12");
}

TEST(CallWords, CommunicatorsSayWhoIsInThem) {
  engine::CommunicatorRecord communicator;
  communicator.parent = 0;
  communicator.how = "MPI_Comm_split";
  communicator.uid = 0x3fa91c02deadbeef;
  communicator.my_rank = 1;
  communicator.size = 6;
  communicator.members = {{0, 2, 3}, {7, 1, 1}, {9, -1, 2}};
  EXPECT_EQ(communicator_definition_words(2, communicator),
            "comm 2 = MPI_Comm_split of world @3fa91c02; rank 1 of 6; world ranks 0-4 by 2, 7, 9, 8");
  communicator.remote = 2;
  EXPECT_NE(communicator_definition_words(2, communicator).find("rank 1 of 4 and 2 remote"), std::string::npos);
}

}  // namespace
}  // namespace reprise::report
