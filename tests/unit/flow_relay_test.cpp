// Broadcasts in a made-up library, in which a rank passes on to two others what it got.
#include <gtest/gtest.h>

#include "flow_messages.hpp"

namespace reprise::flow {
namespace {

constexpr std::uint32_t kRanks = 4;

std::uint64_t seen_by(std::uint32_t rank, std::uint64_t shared) { return shared + rank * 0x1000; }

// Of two broadcasts the last one goes wrong; who is blamed for what comes to this rank? The root returns when it likes, the others at the end.
template <class Move>
Blame blame_at(std::uint32_t rank, Move move) {
  const Delivery good{0, 1, 0, rank, 1, 0}, bad{0, 2, 0, rank, 2, 0};
  Trail trail({good, bad});
  World world(128, &trail, kRanks);
  for (const bool last : {false, true}) {
    world.begin_broadcast();
    move(world, last);
    for (std::uint32_t one = 1; one < kRanks; ++one) world.end_broadcast(one);
  }
  const Journey* const journey = trail.find(bad);
  const Journey* const related = trail.find(good);
  EXPECT_TRUE(journey && related);
  return journey && related ? find_blame(*journey, {related}) : Blame();
}

// The root has long returned when the relay packs for the second one.
TEST(FlowRelay, WhoPassesItOnToTwoTakesItTwice) {
  const Blame blame = blame_at(2, [](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    world.end_broadcast(0);
    world.move(1, kTaken, seen_by(1, kShared), 128, "unpack");
    world.move(1, seen_by(1, kSharedWithOthers), kTaken, 128, "pack");
    world.move(1, seen_by(1, kShared + 0x200), kTaken, 128, "pack");
    world.move(3, kTaken, seen_by(3, kSharedWithOthers), 128, "unpack");
    world.move(2, kTaken, seen_by(2, kShared + 0x200), last ? 120 : 128, "unpack");
  });
  expect(blame, Blame::Kind::NotMoved, 4, "unpack");
  EXPECT_EQ(blame.stage.rank, 2u);
  EXPECT_EQ(blame.offset, 120u);
}

// Two ranks take a half each, and pass it on; then each takes the other half for itself, and that is not how the third one gets it.
TEST(FlowRelay, EachPartGoesOverTheRanksThatItGoesOverAtOtherTimes) {
  const Blame blame = blame_at(3, [](World& world, bool last) {
    if (!last) world.pull(1, kTaken, 0, kGiven, 64);
    world.pull(2, kTaken + 64, 0, kGiven + 64, 64);
    world.pull(3, kTaken, 1, kTaken, 64);
    world.pull(3, kTaken + 64, 2, kTaken + 64, 64);
    world.pull(1, kTaken + 64, 0, kGiven + 64, 64);
    world.pull(2, kTaken, 0, kGiven, 64);
    world.end_broadcast(0);
  });
  expect(blame, Blame::Kind::NotMoved, 1, "pull");
  EXPECT_EQ(blame.stage.rank, 1u);
}

// Usually it is unpacked at once; now it was stored first, and what is left out is the second one of two that are packed.
TEST(FlowRelay, WhatWasStoredFirstIsTakenAsOften) {
  const Blame blame = blame_at(2, [](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    world.end_broadcast(0);
    if (last) world.move(1, kOther, seen_by(1, kShared), 128, "store");
    world.move(1, kTaken, last ? kOther : seen_by(1, kShared), 128, last ? "unpack what was stored" : "unpack");
    world.move(1, seen_by(1, kSharedWithOthers), kTaken, 128, "pack");
    if (!last) world.move(1, seen_by(1, kShared + 0x200), kTaken, 128, "pack");
    world.move(3, kTaken, seen_by(3, kSharedWithOthers), 128, "unpack");
    world.move(2, kTaken, seen_by(2, kShared + 0x200), 128, "unpack");
  });
  expect(blame, Blame::Kind::NotMoved, 4, "pack");
  EXPECT_EQ(blame.stage.rank, 1u);
}

// The relay takes it at a place of the library where it has taken none before. Then it is not pulled; or that was only the store, and what
// is pulled is what was there before.
TEST(FlowRelay, WhoTakesItElsewhereIsNotToBlameIfItIsNotPulled) {
  for (const bool is_stored : {false, true}) {
    const Blame blame = blame_at(2, [&](World& world, bool last) {
      world.move(0, kShared, kGiven, 128, "pack");
      world.move(1, last && is_stored ? kOther : kTaken, seen_by(1, kShared), 128, last ? "take" : "unpack");
      if (!last || is_stored) world.pull(2, kTaken, 1, kTaken, 128);
      world.end_broadcast(0);
    });
    expect(blame, Blame::Kind::NotMoved, is_stored ? 2 : 3, is_stored ? "unpack" : "pull");
    EXPECT_EQ(blame.stage.rank, is_stored ? 1u : 2u);
  }
}

// Of two fragments the first one is not taken, or not wholly. Only then it is known where in the library it would have been.
TEST(FlowRelay, AMissingFragmentIsNoMissingPart) {
  for (const bool is_part : {false, true}) {
    const Blame blame = blame_at(1, [&](World& world, bool last) {
      world.move(0, kShared, kGiven, 64, "pack");
      world.move(0, kShared + 0x200, kGiven + 64, 64, "pack");
      if (!last || is_part) world.move(1, kTaken, seen_by(1, kShared), last ? 56 : 64, "unpack");
      world.move(1, kTaken + 64, seen_by(1, kShared + 0x200), 64, "unpack");
      world.end_broadcast(0);
    });
    expect(blame, Blame::Kind::NotMoved, 2, "unpack");
    EXPECT_EQ(blame.is_part, is_part);
  }
}

}  // namespace
}  // namespace reprise::flow
