// Bytes that are followed through made-up libraries.
#include "flow/tracker.hpp"

#include <gtest/gtest.h>

#include "flow_world.hpp"

namespace reprise::flow {
namespace {

TEST(FlowTracker, ThroughSharedMemoryAtDifferentAddresses) {
  World world(100);
  world.begin_receive();
  world.begin_send();
  world.move(0, kShared + 64, kGiven, 100, "pack");
  world.end_send();
  world.move(1, kTaken, kShared + 0x1000 + 64, 100, "unpack");
  world.end_receive();
  EXPECT_EQ(world.followed(), 100u);
}

TEST(FlowTracker, ControlDataHasNoLabelAndContiguousDataOfOthersStaysApart) {
  World world(100);
  world.begin_receive();
  world.begin_send();
  world.move(0, kOther + 16, kGiven, 60, "pack");
  world.move(0, kOther + 76, kGiven + 60, 40, "pack");
  world.move(0, kShared, kOther, 200, "write");  // a header before, anything behind
  world.move(1, kTaken, kShared + 0x1000 + 16, 100, "read");
  world.end_receive();
  EXPECT_EQ(world.followed(), 100u);
}

TEST(FlowTracker, WhatIsNotWhereItShouldBeIsNotFollowed) {
  World world(100);
  world.begin_receive();
  world.begin_send();
  world.move(0, kShared + 8, kGiven, 92, "pack");
  world.move(1, kTaken, kShared + 0x1000, 100, "unpack");
  world.end_receive();
  EXPECT_EQ(world.followed(), 0u);
}

TEST(FlowTracker, LabelsOfAnEarlierMessageAreNotThoseOfThisOne) {
  World world(100);
  world.begin_receive();
  world.begin_send();
  world.move(0, kShared, kGiven, 100, "pack");
  world.end_send();
  world.move(1, kTaken, kShared + 0x1000, 100, "unpack");
  world.end_receive();
  world.begin_receive();
  world.begin_send();  // and packs by loads and stores, to the same place
  world.move(1, kTaken, kShared + 0x1000, 100, "unpack");
  world.end_send();
  world.end_receive();
  EXPECT_EQ(world.followed(), 100u);
}

TEST(FlowTracker, StreamsAreKnownByTheirBytesAndOtherMachinesAreWaitedFor) {
  World world(100);
  world.begin_receive();
  world.begin_send();
  const Event heard = world.transfer(IntentionRecord::Heard, kTaken, 40, 100, "10.0.0.2:7 10.0.0.1:5");
  EXPECT_FALSE(world.tracker.is_ready(heard));
  world.tracker.add(0, world.transfer(IntentionRecord::Sent, kOther, 0, 40, "10.0.0.1:5 10.0.0.2:7"));
  EXPECT_FALSE(world.tracker.is_ready(heard));
  world.tracker.add(0, world.transfer(IntentionRecord::Sent, kGiven, 40, 100, "10.0.0.1:5 10.0.0.2:7"));
  ASSERT_TRUE(world.tracker.is_ready(heard));
  world.tracker.add(1, heard);
  world.end_receive();
  EXPECT_EQ(world.followed(), 100u);
}

TEST(FlowTracker, TheMemoryOfAnotherProcess) {
  World world(100);
  world.begin_receive();
  world.begin_send();
  world.pull(1, kTaken, 0, kGiven, 100);
  world.end_receive();
  EXPECT_EQ(world.followed(), 100u);
}

}  // namespace
}  // namespace reprise::flow
