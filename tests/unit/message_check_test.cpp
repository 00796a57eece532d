// Both sides of messages and collectives, as lint compares them.
#include "analyze/message_check.hpp"

#include <gtest/gtest.h>

namespace reprise::analyze {
namespace {

using engine::Category;
using engine::TypeSignature;

const TypeSignature kInts{{{TypeSignature::Kind::Signed, 4, 1}}, false};
const TypeSignature kFloats{{{TypeSignature::Kind::Floating, 4, 1}}, false};

// Ranks of one communicator; places are named after what is done there.
class Ranks {
 public:
  explicit Ranks(std::size_t ranks) : logs_(ranks) {}

  Ranks& sends(std::size_t rank, int dest, int tag, std::uint64_t bytes, const TypeSignature& type = kInts) {
    logs_[rank].sends.push_back({1, static_cast<int>(rank), dest, tag, {bytes, &type}, place(rank, "MPI_Send"), true, true});
    return *this;
  }
  Ranks& receives(std::size_t rank, int source, int tag, std::uint64_t bytes, const TypeSignature& type = kInts) {
    logs_[rank].receives.push_back(
        {1, source, static_cast<int>(rank), tag, {bytes, &type}, place(rank, "MPI_Recv"), source >= 0, true});
    return *this;
  }
  Ranks& together(std::size_t rank, const char* call, int root, std::uint64_t operation, LoggedData gives, LoggedData takes) {
    logs_[rank].collectives.push_back({1, static_cast<int>(rank), place(rank, call), root, operation, gives, takes});
    return *this;
  }
  MessageLog& log(std::size_t rank) { return logs_[rank]; }

  std::vector<Category> categories(bool is_whole = true) const {
    std::vector<Category> all;
    for (const MessageFinding& finding : check_messages(logs_, is_whole)) all.push_back(finding.category);
    return all;
  }

 private:
  std::uint64_t place(std::size_t rank, const std::string& call) {
    logs_[rank].places.push_back(call + "|here|" + std::to_string(logs_[rank].places.size()));
    return logs_[rank].places.size() - 1;
  }
  std::vector<MessageLog> logs_;
};

using Categories = std::vector<Category>;

TEST(MessageCheck, MessagesKeepTheirOrderPerTag) {
  Ranks run(2);
  run.sends(0, 1, 7, 4).sends(0, 1, 8, 4, kFloats).sends(0, 1, 7, 8);
  run.receives(1, 0, 8, 4, kFloats).receives(1, 0, 7, 4).receives(1, 0, -1, 8);
  EXPECT_EQ(run.categories(), Categories{});
}

TEST(MessageCheck, TypesAndSizesMustFit) {
  EXPECT_EQ(Ranks(2).sends(0, 1, 0, 4, kFloats).receives(1, 0, 0, 4).categories(), Categories{Category::TypeMismatch});
  EXPECT_EQ(Ranks(2).sends(0, 1, 0, 8).receives(1, 0, 0, 4).categories(), Categories{Category::Truncation});
  EXPECT_EQ(Ranks(2).sends(0, 1, 0, 4).receives(1, 0, 0, 400).categories(), Categories{});
}

TEST(MessageCheck, WhatTheProgramHandlesIsNoError) {
  Ranks run(2);
  run.sends(0, 1, 0, 8).receives(1, 0, 0, 4);
  run.log(1).receives[0].is_fatal = false;
  EXPECT_EQ(run.categories(), Categories{});
}

TEST(MessageCheck, NothingIsSaidAfterAnUnknownReceive) {
  Ranks run(2);
  run.sends(0, 1, 0, 4).sends(0, 1, 0, 4, kFloats).receives(1, -1, -1, 4).receives(1, 0, 0, 4);
  EXPECT_EQ(run.categories(), Categories{});
}

TEST(MessageCheck, LeftOverOnlyIfTheRunIsWhole) {
  Ranks run(2);
  run.sends(0, 1, 0, 4);
  EXPECT_EQ(run.categories(true), Categories{Category::LostSend});
  EXPECT_EQ(run.categories(false), Categories{});
  run.log(1).unordered = true;
  EXPECT_EQ(run.categories(true), Categories{});
}

TEST(MessageCheck, CollectivesMustBeTheSame) {
  EXPECT_EQ(Ranks(2).together(0, "MPI_Barrier", -1, 0, {}, {}).together(1, "MPI_Bcast", 0, 0, {}, {4, &kInts}).categories(),
            Categories{Category::Mismatch});
  EXPECT_EQ(Ranks(2).together(0, "MPI_Reduce", 0, 5, {}, {}).together(1, "MPI_Reduce", 1, 5, {}, {}).categories(),
            Categories{Category::Mismatch});
  EXPECT_EQ(Ranks(2).together(0, "MPI_Bcast", 0, 0, {4, &kInts}, {}).together(1, "MPI_Bcast_c", 0, 0, {}, {4, &kInts}).categories(),
            Categories{});
}

TEST(MessageCheck, WhatIsGivenIsTaken) {
  // Gather: the first only gives, in place; the root expects something else of the last.
  Ranks run(3);
  run.together(0, "MPI_Gather", 0, 0, {}, {4, &kInts}).together(1, "MPI_Gather", 0, 0, {4, &kInts}, {});
  run.together(2, "MPI_Gather", 0, 0, {4, &kFloats}, {});
  EXPECT_EQ(run.categories(), Categories{Category::CollectiveTypes});
  // What is combined must be the same everywhere, although nobody takes it as it is.
  Ranks sum(2);
  sum.together(0, "MPI_Allreduce", -1, 5, {4, &kInts}, {}).together(1, "MPI_Allreduce", -1, 5, {8, &kInts}, {});
  EXPECT_EQ(sum.categories(), Categories{Category::CollectiveTypes});
  // One count per rank is not known here.
  Ranks some(2);
  some.together(0, "MPI_Gatherv", 0, 0, {4, &kInts}, {}).together(1, "MPI_Gatherv", 0, 0, {8, &kInts}, {});
  EXPECT_EQ(some.categories(), Categories{});
}

}  // namespace
}  // namespace reprise::analyze
