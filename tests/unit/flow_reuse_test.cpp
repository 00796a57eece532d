// Places that a made-up library uses again, where something of an earlier message may be left.
#include "flow_messages.hpp"

namespace reprise::flow {
namespace {

constexpr std::uint64_t kForOthers = kOther + 0x1000, kLate = kOther + 0x2000, kNothing = 0x90000;

// A library that packs for two ranks, and sends what it has packed; the first rank is somebody else, and has taken it.
void pack_for_others(World& world) {
  world.move(0, kForOthers, kGiven, 128, "pack");
  world.move(0, kSharedWithOthers, kForOthers, 128, "send");
  world.move(0, kLate, kSharedWithOthers, 128, "unpack");
}

// Each is followed by something short, which is sent from the same place, and has some bytes of the message behind it.
TEST(FlowReuse, WhatIsLeftBehindSomethingShortIsNotTakenAgain) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    pack_for_others(world);
    if (!last) world.move(0, kOther, kGiven, 128, "pack");
    world.move(0, kShared, kOther, 128, "send");
    world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
    world.move(0, kShared + 512, kOther - 32, 40, "send");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 1, "pack");
}

// What is packed once is sent to somebody else first. One message comes early, and is stored before it is unpacked, but not its last bytes.
TEST(FlowReuse, WhatOthersTookFirstIsStillForThisOne) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kForOthers, kGiven, 128, "pack");
    world.move(0, kSharedWithOthers, kForOthers, 128, "send");
    world.move(0, kLate, kSharedWithOthers, 128, "unpack");
    world.move(0, kShared, kForOthers, 128, "send");
    if (last) world.move(1, kOther, kShared + 0x1000, 120, "store");
    world.move(1, kTaken, last ? kOther : kShared + 0x1000, 128, last ? "unpack what was stored" : "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 3, "store");
  EXPECT_EQ(blame.offset, 120u);
}

// The same in two halves, of which one came in time: that way is known from others, and the one that was stored is not.
TEST(FlowReuse, WhatOthersTookFirstIsStillForThisOneInParts) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    for (const std::uint64_t half : {0, 64}) {
      const bool is_stored = last && half > 0;
      const std::uint64_t place = kForOthers + half, slot = kShared + 2 * half;
      world.move(0, place, kGiven + half, 64, "pack");
      world.move(0, kSharedWithOthers + half, place, 64, "send");
      world.move(0, kLate + half, kSharedWithOthers + half, 64, "unpack");
      world.move(0, slot, place, 64, "send");
      if (is_stored) world.move(1, kOther, slot + 0x1000, 60, "store");
      world.move(1, kTaken + half, is_stored ? kOther : slot + 0x1000, 64, is_stored ? "unpack what was stored" : "unpack");
    }
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 3, "store");
  EXPECT_EQ(blame.offset, 124u);
}

// It is packed where the message to somebody else was, but not its last bytes; of what is left there some is right, by chance.
TEST(FlowReuse, WhatIsLeftOfAMessageToOthersIsForThem) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kForOthers, kGiven, 120, "pack");
    world.move(0, kForOthers + 120, kGiven + 120, 8, "pack a part");
    world.move(0, kSharedWithOthers, kForOthers, 128, "send");
    world.move(0, kLate, kSharedWithOthers, 128, "unpack");
    world.move(0, kForOthers, kGiven, 120, "pack");
    world.move(0, kForOthers + (last ? 124 : 120), kGiven + 120, last ? 4 : 8, "pack a part");
    world.move(0, kShared, kForOthers, 128, "send");
    world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 1, "pack a part");
  EXPECT_EQ(blame.offset, 124u);
}

// What is stored begins too late. Something short comes from the place where its first bytes were, and is stored, too.
TEST(FlowReuse, WhatWasNotTakenIsNotWhatIsLeftOfIt) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    const std::uint64_t left_out = last ? 8 : 0;
    world.move(0, kOther, kGiven, 128, "pack");
    world.move(0, kShared, kOther, 128, "send");
    world.move(1, kOther, kShared + 0x1000 + left_out, 128 - left_out, "store");
    world.move(0, kShared + 512, kOther - 32, 40, "send");
    world.move(1, kLate, kShared + 0x1000 + 512, 40, "store");
    world.move(1, kTaken, kOther, 128, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 3, "store");
  EXPECT_EQ(blame.offset, 0u);
}

// Its last bytes are not unpacked. Then the rank passes the message on, and packs it where it had stored it.
TEST(FlowReuse, WhoPassesItOnIsNotBlamed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, kTaken, kOther, last ? 120 : 128, last ? "unpack a part" : "unpack");
    world.move(1, kOther, kTaken, 120, "pack");
    world.move(1, kOther + 120, kTaken + 120, 8, "pack a part");
    world.move(1, kSharedWithOthers + 0x1000, kOther, 128, "send");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "unpack a part");
}

// This rank takes it in a buffer, and from there to another one. The first time, some bytes are left out, and then something else is
// packed where they had been stored.
TEST(FlowReuse, WhatIsPassedOnHasBeenTakenBefore) {
  constexpr std::uint64_t kBuffer = kOther + 0x4000, kFragment = kOther + 0x6000;
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, kBuffer, kOther, last ? 120 : 128, "unpack");
    world.move(1, kFragment, kBuffer, 128, "pack");
    world.move(1, kTaken, kFragment, 128, "unpack");
    if (last) world.move(1, kOther, kNothing, 128, "pack");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "unpack");
}

// The same, but they are missing altogether, and what is packed there then is for somebody else.
TEST(FlowReuse, WhoPacksForOthersIsNoStranger) {
  constexpr std::uint64_t kFragment = kOther + 0x6000;
  Messages messages(2);
  messages.each([](World& world, bool last) {
    const std::uint64_t buffer = kOther + (last ? 0x4000 : 0x5000);  // in which nothing is
    world.move(0, kShared, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, buffer, kOther, 64, "unpack");
    if (!last) world.move(1, buffer + 64, kOther + 64, 64, "unpack the rest");
    world.move(1, kFragment, buffer, 128, "pack");
    world.move(1, kTaken, kFragment, 128, "take");
    if (last) {
      world.move(1, kOther, buffer, 64, "pack");
      world.move(1, kOther + 64, buffer + 64, 64, "pack the rest");
      world.move(1, kSharedWithOthers + 0x1000, kOther, 128, "send");
    }
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "unpack the rest");
}

// The first part is not stored, and the second one comes to the same place, with a header: nobody has put that over it by mistake.
TEST(FlowReuse, WhatComesNextHasNotOverwrittenIt) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kForOthers, kGiven, 64, "pack");
    world.move(0, kShared, kForOthers, 64, "send");
    if (!last) world.move(1, kOther, kShared + 0x1000, 64, "store");
    world.move(0, kForOthers + 72, kGiven + 64, 64, "pack");
    world.move(0, kShared, kForOthers + 64, 72, "send");
    world.move(1, kLate, kShared + 0x1000, 72, "store");
    world.move(1, kTaken, kOther, 64, "unpack");
    world.move(1, kTaken + 64, kLate + 8, 64, "unpack");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "store");
}

}  // namespace
}  // namespace reprise::flow
