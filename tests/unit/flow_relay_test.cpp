// Broadcasts in a made-up library, in which a rank passes on to two others what it got.
#include <gtest/gtest.h>

#include "flow_messages.hpp"

namespace reprise::flow {
namespace {

constexpr std::uint32_t kRelay = 1, kLast = 2, kFirst = 3, kRanks = 4;

std::uint64_t seen_by(std::uint32_t rank, std::uint64_t shared) { return shared + rank * 0x1000; }

// The root has long returned when the relay packs for the second one.
TEST(FlowRelay, WhoPassesItOnToTwoTakesItTwice) {
  const Delivery good{0, 1, 0, kLast, 1, 0}, bad{0, 2, 0, kLast, 2, 0};
  Trail trail({good, bad});
  World world(128, &trail, kRanks);
  for (int round = 1; round <= 2; ++round) {
    const std::uint64_t came = round == 2 ? 120 : 128;
    world.begin_broadcast();
    world.move(0, kShared, kGiven, 128, "pack");
    world.end_broadcast(0);
    world.move(kRelay, kTaken, seen_by(kRelay, kShared), 128, "unpack");
    world.move(kRelay, seen_by(kRelay, kSharedWithOthers), kTaken, 128, "pack");
    world.move(kRelay, seen_by(kRelay, kShared + 0x200), kTaken, 128, "pack");
    world.end_broadcast(kRelay);
    world.move(kFirst, kTaken, seen_by(kFirst, kSharedWithOthers), 128, "unpack");
    world.end_broadcast(kFirst);
    world.move(kLast, kTaken, seen_by(kLast, kShared + 0x200), came, "unpack");
    world.end_broadcast(kLast);
  }
  const Journey* const journey = trail.find(bad);
  const Journey* const related = trail.find(good);
  ASSERT_TRUE(journey && related);
  const Blame blame = find_blame(*journey, {related});
  expect(blame, Blame::Kind::NotMoved, 4, "unpack");
  EXPECT_EQ(blame.stage.rank, kLast);
  EXPECT_EQ(blame.offset, 120u);
}

}  // namespace
}  // namespace reprise::flow
