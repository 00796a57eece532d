// What was sent against what was received, where the two lists do not simply agree.
#include "flow/messages.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace reprise::flow {
namespace {

class MessagesTest : public testing::Test {
 protected:
  MessagesTest() {
    type_.tree.made = engine::TypeTree::Made::Named;
    type_.tree.name = "MPI_INT";
    type_.tree.size = 4;
    type_.tree.extent = 4;
    type_.flat = engine::flatten(type_.tree, 100);
    group_.local = {0, 1, 2};
    send_.group = receive_.group = &group_;
    send_.place = receive_.place = &place_;
    LoggedBlock block;
    block.count = 1;
    block.type = &type_;
    send_.gives = {block};
    receive_.takes = {block};
  }
  static engine::DataPart digest(std::uint64_t of) {
    auto bytes = std::make_shared<std::vector<std::uint8_t>>(8);
    std::memcpy(bytes->data(), &of, 8);
    return bytes;
  }
  void sent(std::uint64_t what, bool ordered = true, std::uint32_t from = 0, int tag = 5) {
    messages_.sent({0, from, 1, tag}, {{from, ++calls_, &send_}, digest(what), {}}, ordered);
  }
  void received(std::uint64_t what, bool ordered = true, std::uint32_t from = 0, int tag = 5) {
    Told told;
    told.source = static_cast<int>(from);
    told.tag = tag;
    told.bytes = 4;
    messages_.received({0, from, 1, tag}, {{1, ++calls_, &receive_}, told, digest(what), false, {}}, ordered);
  }
  std::vector<Violation::Kind> kinds() {
    messages_.finish({false, false, false});
    std::vector<Violation::Kind> all;
    for (const Violation& one : verdict_.violations) all.push_back(one.kind);
    return all;
  }
  using Kinds = std::vector<Violation::Kind>;

  LoggedType type_;
  LoggedGroup group_;
  LoggedShape send_, receive_;
  std::string place_ = "MPI_Send|app.c:1";
  std::uint64_t calls_ = 0;
  Verdict verdict_;
  Messages messages_{verdict_};
};

TEST_F(MessagesTest, InOrder) {
  for (std::uint64_t i = 0; i < 5; ++i) sent(i);
  for (std::uint64_t i = 0; i < 5; ++i) received(i);
  EXPECT_EQ(kinds(), Kinds{});
  EXPECT_EQ(verdict_.messages, 5u);
}

TEST_F(MessagesTest, OneWasOvertaken) {
  for (const std::uint64_t i : {1, 2, 3, 4}) sent(i);
  for (const std::uint64_t i : {1, 3, 2, 4}) received(i);
  EXPECT_EQ(kinds(), Kinds{Violation::Kind::Overtaken});
  EXPECT_EQ(verdict_.messages, 4u);
}

// The second thread's first message is there before its call is logged.
TEST_F(MessagesTest, ThreadsOfTheSenderOvertakeEachOther) {
  sent(1), sent(2);
  received(3), received(1), received(2), received(4);
  sent(3, false), sent(4, false);
  EXPECT_EQ(kinds(), Kinds{});
  EXPECT_EQ(verdict_.messages, 4u);
}

TEST_F(MessagesTest, TheStatusNamesAnother) {
  sent(1), sent(2, true, 2), sent(3);
  received(1), received(2), received(3);
  EXPECT_EQ(kinds(), Kinds{Violation::Kind::Source});
}

TEST_F(MessagesTest, TheStatusHasAnotherTag) {
  sent(1), sent(2, true, 0, 6), sent(3);
  received(1), received(2), received(3);
  EXPECT_EQ(kinds(), Kinds{Violation::Kind::Tag});
}

TEST_F(MessagesTest, NobodySentIt) {
  sent(1), sent(3);
  received(1), received(2), received(3);
  EXPECT_EQ(kinds(), Kinds{Violation::Kind::Invented});
}

TEST_F(MessagesTest, OtherBytes) {
  sent(1), sent(2), sent(3);
  received(1), received(9), received(3);
  EXPECT_EQ(kinds(), Kinds{Violation::Kind::Bytes});
}

}  // namespace
}  // namespace reprise::flow
