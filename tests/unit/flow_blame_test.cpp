// Movements that go wrong in made-up libraries.
#include "flow/alternatives.hpp"
#include "flow/ways.hpp"
#include "flow_messages.hpp"

namespace reprise::flow {
namespace {

// Three messages over three hops; the second one goes wrong as `fault` says.
enum class Fault { None, To, From, Size, Dropped, Reversed };
Blame blame_of(Fault fault, int hop) {
  const Delivery good{0, 1, 0, 1, 1, 0}, bad{0, 2, 0, 1, 2, 0};
  Trail trail({good, bad});
  World world(128, &trail);
  for (int message = 1; message <= 3; ++message) {
    int number = 0;
    const auto move = [&](std::uint32_t rank, std::uint64_t to, std::uint64_t from, const char* function) {
      const bool wrong = message == 2 && ++number == hop;
      if (!wrong || fault == Fault::None) return world.move(rank, to, from, 128, function);
      switch (fault) {
        case Fault::To: return world.move(rank, to + 8, from, 120, function);
        case Fault::From: return world.move(rank, to, from + 8, 120, function);
        case Fault::Size: return world.move(rank, to, from, 120, function);
        case Fault::Reversed: return world.move(rank, from, to, 128, function);
        default: return;
      }
    };
    world.begin_receive();
    world.begin_send();
    const std::uint64_t slot = static_cast<std::uint64_t>(message) * 256;
    move(0, kShared + slot, kGiven, "pack");
    move(1, kOther, kShared + 0x1000 + slot, "store");
    move(1, kTaken, kOther, "unpack");
    world.end_send();
    world.end_receive();
  }
  const Journey* const journey = trail.find(bad);
  const Journey* const related = trail.find(good);
  EXPECT_TRUE(journey && related);
  return journey && related ? find_blame(*journey, {related}) : Blame();
}

TEST(FlowBlame, TheFirstWrongMovementIsNamed) {
  const char* const functions[] = {"pack", "store", "unpack"};
  for (const Fault fault : {Fault::To, Fault::From, Fault::Size, Fault::Dropped, Fault::Reversed})
    for (int hop = 1; hop <= 3; ++hop) {
      const Blame blame = blame_of(fault, hop);
      ASSERT_NE(blame.kind, Blame::Kind::Unknown) << static_cast<int>(fault) << " at " << hop;
      EXPECT_EQ(blame.hop, static_cast<std::size_t>(hop)) << static_cast<int>(fault);
      EXPECT_EQ(*blame.stage.site, functions[hop - 1]) << static_cast<int>(fault);
      EXPECT_EQ(blame.of, 3u);
      EXPECT_EQ(blame.kind == Blame::Kind::Reversed, fault == Fault::Reversed) << hop;
    }
}

// What came late was stored first; this one comes in time, and nobody takes it. Had it been stored, it would still be taken from there.
TEST(FlowBlame, WhatFollowsTellsWhatIsMissing) {
  for (const bool is_stored : {false, true}) {
    Messages messages(2);
    messages.each([&](World& world, bool last) {
      world.move(0, kShared, kGiven, 128, "pack");
      if (!last) world.move(1, kOther, kShared + 0x1000, 128, "store");
      if (!last || is_stored) world.move(1, kTaken, kOther, 128, "unpack");
    });
    const Blame blame = messages.blame();
    expect(blame, Blame::Kind::NotMoved, 2, is_stored ? "store" : "unpack");
    EXPECT_EQ(blame.of, is_stored ? 3u : 2u);
  }
}

// Whoever passes bytes on stores them first, or not: this way was never seen as a whole.
TEST(FlowBlame, AWayGoesOnAsKnownOnesDo) {
  constexpr std::uint64_t kPassed = kOther + 0x4000, kLate = kOther + 0x8000;
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    if (last) world.move(1, kLate, kShared + 0x1000, 128, "store");
    world.move(1, kOther, last ? kLate : kShared + 0x1000, 128, "unpack");
    world.move(1, kPassed, kOther, 128, "pass on");
    last ? world.move(1, kPassed, kTaken, 128, "take") : world.move(1, kTaken, kPassed, 128, "take");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Reversed, 5, "take");
  EXPECT_EQ(blame.of, 5u);
}

// Two are packed, and one is too short. The other one is for somebody who takes it when this message has long arrived.
TEST(FlowBlame, WhatOthersTakeLaterIsNotOnTheWay) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, last ? 120 : 128, "pack");
    world.move(0, kSharedWithOthers, kGiven, 128, "pack");
    world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
  }, [](World& world) { world.move(0, kOther, kSharedWithOthers, 128, "unpack"); });
  expect(messages.blame(), Blame::Kind::NotMoved, 1, "pack");
}

// Nothing was packed for it, and it takes what was there before, for somebody else who has taken it.
TEST(FlowBlame, WhatOthersHaveTakenIsNotOnTheWay) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared + 64, kGiven, 128, "pack");
    world.move(0, kOther, kShared + 64, 128, "unpack");
    if (!last) world.move(0, kShared, kGiven, 128, "pack");
    if (!last) world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
    else world.move(1, kTaken + 8, kShared + 0x1000 + 64, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 1, "pack");
}

// The other way round, at a place of the library at which none of these messages was taken before.
TEST(FlowBlame, WhoReadsWhereItShouldWriteIsNamed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    last ? world.move(1, kShared + 0x1000, kTaken, 128, "unpack at once") : world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::Reversed, 2, "unpack at once");
}

// The same, and the others were stored first, and twice.
TEST(FlowBlame, WhoDoesNotStoreItMayReadWhereItShouldWrite) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    if (last) return world.move(1, kShared + 0x1000, kTaken, 128, "unpack at once");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, kOther + 0x4000, kOther, 128, "store again");
    world.move(1, kTaken, kOther + 0x4000, 128, "unpack");
  });
  const Blame blame = messages.blame();
  EXPECT_EQ(blame.kind, Blame::Kind::Reversed);
  EXPECT_EQ(*blame.stage.site, "unpack at once");
}

// No message was stored before, and this one is, in the wrong direction: what is taken on is what was there.
TEST(FlowBlame, WhoIsNewOnTheWayMayReadWhereItShouldWrite) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    if (last) world.move(1, kShared + 0x1000, kOther, 128, "store");
    world.move(1, kTaken, last ? kOther : kShared + 0x1000, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::Reversed, 2, "store");
}

// So is who puts it to a wrong place of the buffer.
TEST(FlowBlame, WhoBringsItToAWrongPlaceIsNamed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    last ? world.move(1, kTaken + 8, kShared + 0x1000, 120, "unpack at once") : world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::Misplaced, 2, "unpack at once");
}

// What was stored is overwritten by a movement that has nothing to do with this message, and then taken.
TEST(FlowBlame, AStrangerMayOverwriteIt) {
  constexpr std::uint64_t kNothing = 0x90000;
  Messages messages(2);
  messages.each([&](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    if (last) world.move(1, kOther, kNothing, 128, "stray");
    world.move(1, kTaken, kOther, 128, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Overwritten, 2, "store");
  ASSERT_TRUE(blame.movement);
  EXPECT_EQ(*blame.movement->site, "stray");
}

// Of two blocks that travel together: which movement went wrong is known better of one of them.
TEST(FlowBlame, OneBlockExplainsTheOther) {
  const std::string pack = "pack", store = "store", take = "take";
  Hop packing, taking;
  Blame missing;  // nothing was packed, and something was taken all the same
  missing.kind = Blame::Kind::NotMoved;
  missing.hop = 2;
  missing.of = 4;
  missing.stage.site = &pack;
  missing.landed = &taking;
  Blame carried_on;  // and it was something of this block
  carried_on.kind = Blame::Kind::Misplaced;
  carried_on.hop = carried_on.of = 3;
  carried_on.stage.site = &take;
  carried_on.movement = carried_on.landed = &taking;
  EXPECT_TRUE(is_explained_by(carried_on, missing));
  EXPECT_FALSE(is_explained_by(missing, carried_on));
  EXPECT_FALSE(is_explained_by(carried_on, carried_on));

  Blame passed_on;  // one was to be stored or taken, as the other one was, of which nothing has come
  passed_on.kind = Blame::Kind::NotMoved;
  passed_on.hop = 2;
  passed_on.of = 4;
  passed_on.stage.site = &store;
  passed_on.before = &packing;
  Blame at_its_end = passed_on;
  at_its_end.of = 2;
  at_its_end.stage.site = &take;
  EXPECT_TRUE(is_explained_by(passed_on, at_its_end));
  EXPECT_FALSE(is_explained_by(at_its_end, passed_on));
  at_its_end.before = &taking;
  EXPECT_FALSE(is_explained_by(passed_on, at_its_end));

  Blame guessed;  // it is not where such movements put bytes; and what has moved it before was wrong for the other one, and not by a guess
  guessed.kind = Blame::Kind::Misplaced;
  guessed.hop = 2;
  guessed.of = 3;
  guessed.stage.site = &store;
  guessed.movement = &taking;
  guessed.is_guessed = true;
  guessed.came_by = {&packing};
  Blame known = guessed;
  known.is_guessed = false;
  known.movement = &packing;
  EXPECT_TRUE(is_explained_by(guessed, known));
  EXPECT_FALSE(is_explained_by(known, guessed));
  Blame later = guessed;
  later.is_guessed = false;
  EXPECT_TRUE(is_explained_by(later, known));
  known.is_guessed = true;
  EXPECT_FALSE(is_explained_by(later, known));
  known.is_guessed = false;
  Blame both = passed_on;  // both were to be taken on from there
  known.came_by = {&packing};
  known.movement = &taking;
  EXPECT_TRUE(is_explained_by(both, known));
  known.stage.rank = 1;
  EXPECT_FALSE(is_explained_by(both, known));
  known.stage.rank = 0;
  known.is_guessed = true;
  EXPECT_FALSE(is_explained_by(both, known));
  known.is_guessed = false;
  known.movement = &packing;
  known.came_by.clear();
  guessed.came_by.clear();
  EXPECT_FALSE(is_explained_by(guessed, known));
}

// Nobody was seen to take it: whoever takes what was packed by the same function may have been to.
TEST(FlowBlame, WhereElseACopyMayBeMissingIsTold) {
  const std::string pack = "pack", take = "take", take_late = "take late", pass_on = "pass on";
  std::vector<Hop> hops(5);
  const std::string* const sites[] = {&pack, &take, &take_late, &pass_on, &take_late};
  const std::uint32_t taken_from[] = {kNoHop, 0, 0, 2, 0};
  for (std::size_t i = 0; i < hops.size(); ++i) {
    hops[i].kind = IntentionRecord::Copied;
    hops[i].rank = i == 0 ? 0 : 1;
    hops[i].site = sites[i];
    hops[i].labels = {{0, 64, {1, taken_from[i], kGiven}}};
  }
  Hop packed = hops[0];
  Blame blame;
  blame.kind = Blame::Kind::NotMoved;
  blame.stage = {1, IntentionRecord::Copied, &take};
  blame.before = &packed;
  const std::vector<Stage> found = alternatives(blame, hops);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(*found[0].site, "take late");
  blame.before = nullptr;  // it was to be taken from where it was given
  const std::vector<Stage> from_the_buffer = alternatives(blame, hops);
  ASSERT_EQ(from_the_buffer.size(), 1u);
  EXPECT_EQ(*from_the_buffer[0].site, "pack");
}

// This message was stored, as none was before, but not its last bytes, which were packed elsewhere in the library than the rest.
TEST(FlowBlame, APartGoesOnWithTheRest) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kOther, kGiven, 128, "copy");
    world.move(0, kShared, kOther, 120, "pack");
    world.move(0, kShared + 120, kOther + 120, 8, "pack a part");
    if (last) world.move(1, kOther, kShared + 0x1000, 120, "store");
    world.move(1, kTaken, last ? kOther : kShared + 0x1000, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "store");
}

// It was stored, and of other blocks, which were not, this part was unpacked elsewhere in the library than the rest.
TEST(FlowBlame, APartIsMissedWhereSuchPartsAreMoved) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    const std::uint64_t taken_from = last ? kOther : kShared + 0x1000;
    world.move(0, kShared, kGiven, 120, "pack");
    world.move(0, kShared + 120, kGiven + 120, 8, "pack a part");
    if (last) world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, kTaken, taken_from, 120, "unpack");
    if (!last) world.move(1, kTaken + 120, taken_from + 120, 8, "unpack a part");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "unpack a part");
}

// All of it came to a wrong place there, but for the first bytes, which did not come at all.
TEST(FlowBlame, WhereSomeBytesWentOthersAreMissed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    if (last) world.move(1, kOther, kShared + 0x1000 + 8, 120, "store");
    world.move(1, kTaken, last ? kOther : kShared + 0x1000, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 2, "store");
}

// Two fragments, packed in two places of the library; only the first one is kept before it is unpacked, and its last bytes, for
// which nobody is an example, are not.
TEST(FlowBlame, AWayMayBeginAsAnotherOne) {
  Messages messages(1);
  messages.each([](World& world, bool) {
    world.move(0, kShared, kGiven, 56, "pack");
    world.move(0, kShared + 56, kGiven + 56, 8, "pack a part");
    world.move(0, kShared + 512, kGiven + 64, 8, "pack a part");
    world.move(0, kShared + 520, kGiven + 72, 56, "pack");
    world.move(1, kOther, kShared + 0x1000, 56, "store");
    world.move(1, kTaken, kOther, 56, "unpack");
    world.move(1, kTaken + 56, kOther + 56, 8, "unpack");
    world.move(1, kTaken + 64, kShared + 0x1000 + 512, 8, "unpack");
    world.move(1, kTaken + 72, kShared + 0x1000 + 520, 56, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 2, "store");
  EXPECT_EQ(blame.of, 3u);
  EXPECT_EQ(blame.offset, 56u);
}

// The first part waits for its receive and is stored meanwhile, the second does not: the first is to be stored, though the other
// bytes of its block have not been.
TEST(FlowBlame, APartGoesAsTheSamePartOfOtherBlocks) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 64, "pack");
    if (!last) world.move(1, kOther, kShared + 0x1000, 64, "store");
    world.move(0, kShared + 512, kGiven + 64, 64, "pack");
    world.move(1, kTaken, kOther, 64, "unpack");
    world.move(1, kTaken + 64, kShared + 0x1000 + 512, 64, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 2, "store");
  EXPECT_EQ(blame.of, 3u);
}

// A broadcast: the root packs for somebody else, too.
TEST(FlowBlame, WhatIsMovedForOthersIsNotOnTheWay) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared + 1024, kGiven, 128, "pack");
    world.move(0, kOther, kShared + 1024, 128, "store");  // some other rank than the one that takes it
    if (!last) world.move(0, kShared, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, kTaken, kOther, 128, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 1, "pack");
}

// And perhaps that somebody takes it only when it is too late; but such places have always been its.
TEST(FlowBlame, WhatIsPutWhereOthersReadIsNotOnTheWay) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kSharedWithOthers, kGiven, 128, "pack");
    if (!last) world.move(0, kOther, kSharedWithOthers, 128, "store");
    if (!last) world.move(0, kShared, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 128, "store");
    world.move(1, kTaken, kOther, 128, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 1, "pack");
}

// It came too early in other messages, was stored, and unpacked from there; this time it is not.
TEST(FlowBlame, StoringMayBeLeftOut) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    if (!last) world.move(1, kOther, kShared + 0x1000, 128, "store");
    if (!last) world.move(1, kTaken, kOther, 128, "unpack");
    else world.move(1, kTaken + 8, kShared + 0x1000, 120, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Misplaced, 2, "unpack");
  EXPECT_EQ(blame.of, 2u);
}

// It writes to the send buffer what it has put to the same place before.
TEST(FlowBlame, WhatIsWrittenToTheSendBufferWasToBeRead) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 64, "pack");
    world.move(1, kTaken, kShared + 0x1000, 64, "unpack");
    if (last) world.move(0, kGiven + 64, kShared, 64, "pack");
    else world.move(0, kShared, kGiven + 64, 64, "pack");
    world.move(1, kTaken + 64, kShared + 0x1000, 64, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Reversed, 1, "pack");
}

// Between two copies that are as long as ever, one of another function is missing.
TEST(FlowBlame, ACopyThatIsAsLongAsEverIsNotTooShort) {
  Messages messages(3);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 56, "pack");
    if (!last) world.move(0, kShared + 56, kGiven + 56, 8, "pack a part");
    world.move(0, kShared + 64, kGiven + 64, 64, "pack the rest");
    world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
  });
  const Blame blame = messages.blame();
  EXPECT_EQ(blame.kind, Blame::Kind::NotMoved);
  EXPECT_EQ(*blame.stage.site, "pack a part");
}

// What goes to others is cut elsewhere, and one of its parts begins among the bytes that are missing. All may go through the same memory.
TEST(FlowBlame, ACopyForOthersIsNotTooShort) {
  for (const std::uint64_t for_others : {kSharedWithOthers, kShared + 0x400}) {
    Messages messages(3);
    messages.each([&](World& world, bool last) {
      world.move(0, for_others, kGiven, 60, "pack");
      world.move(0, for_others + 60, kGiven + 60, 68, "pack the rest");
      world.move(0, kOther, for_others, 128, "unpack");
      world.move(0, kShared, kGiven, 56, "pack");
      if (!last) world.move(0, kShared + 56, kGiven + 56, 8, "pack a part");
      world.move(0, kShared + 64, kGiven + 64, 64, "pack the rest");
      world.move(1, kTaken, kShared + 0x1000, 128, "unpack");
    });
    expect(messages.blame(), Blame::Kind::NotMoved, 1, "pack a part");
  }
}

// What is sent begins too late, and then the place of the bytes before it is used for a message to somebody else, whose bytes
// nobody has seen being put there.
TEST(FlowBlame, WhatGoesToSomebodyElseIsNotOnTheWay) {
  Messages messages(2);
  std::uint64_t sent = 0;
  messages.each([&](World& world, bool last) {
    const std::uint64_t left_out = last ? 8 : 0;
    world.move(0, kOther, kGiven, 128, "pack");
    const std::uint64_t bytes = 128 - left_out;
    world.tracker.add(0, world.transfer(IntentionRecord::Sent, kOther + left_out, sent, bytes, "10.0.0.1:5 10.0.0.2:7"));
    world.tracker.add(1, world.transfer(IntentionRecord::Heard, kOther, sent, bytes, "10.0.0.2:7 10.0.0.1:5"));
    sent += bytes;
    if (last) {
      world.tracker.add(0, world.transfer(IntentionRecord::Sent, kOther, 0, 8, "10.0.0.1:6 10.0.0.1:8"));
      world.tracker.add(0, world.transfer(IntentionRecord::Heard, kOther + 4096, 0, 8, "10.0.0.1:8 10.0.0.1:6"));
    }
    world.move(1, kTaken, kOther, 128, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::NotMoved, 2, "socket");
  EXPECT_EQ(blame.of, 4u);
}

// What is sent begins too late, and then the place of the bytes before it is used for a message of the library's own to the same rank, whose
// bytes nobody has seen being put there.
TEST(FlowBlame, WhatWasLeftOutDoesNotComeLater) {
  Messages messages(2);
  std::uint64_t sent = 0;
  messages.each([&](World& world, bool last) {
    const std::uint64_t left_out = last ? 8 : 0;
    const auto pass = [&](std::uint64_t from, std::uint64_t to, std::uint64_t bytes) {
      world.tracker.add(0, world.transfer(IntentionRecord::Sent, from, sent, bytes, "10.0.0.1:5 10.0.0.2:7"));
      world.tracker.add(1, world.transfer(IntentionRecord::Heard, to, sent, bytes, "10.0.0.2:7 10.0.0.1:5"));
      sent += bytes;
    };
    world.move(0, kOther, kGiven, 128, "pack");
    pass(kOther + left_out, kOther, 128 - left_out);
    pass(kOther, kOther + 4096, 8);
    world.move(1, kTaken, kOther, 128, "unpack");
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 2, "socket");
}

// It is packed for somebody else first, and both are sent by the same function; where each goes is seen only then. If that for
// this rank is missing, the other one is not taken for it.
Blame blame_of_two_packs(bool is_packed, std::uint64_t left_out, bool is_sent_late) {
  Messages messages(2);
  std::uint64_t sent = 0;
  const auto send_other = [&](World& world) {
    world.tracker.add(0, world.transfer(IntentionRecord::Sent, kOther, sent, 128, "10.0.0.1:6 10.0.0.1:8"));
    world.tracker.add(0, world.transfer(IntentionRecord::Heard, kOther + 4096, sent, 128, "10.0.0.1:8 10.0.0.1:6"));
  };
  messages.each([&](World& world, bool last) {
    world.move(0, kOther, kGiven, 128, "pack");
    if (!is_sent_late) send_other(world);
    if (!last || is_packed) world.move(0, kOther + 1024, kGiven, 128, "pack");
    world.tracker.add(0, world.transfer(IntentionRecord::Sent, kOther + 1024, sent, 128, "10.0.0.1:5 10.0.0.2:7"));
    world.tracker.add(1, world.transfer(IntentionRecord::Heard, kOther, sent, 128, "10.0.0.2:7 10.0.0.1:5"));
    const std::uint64_t skipped = last ? left_out : 0;
    world.move(1, kTaken, kOther + skipped, 128 - skipped, "unpack");
    if (is_sent_late) world.end_receive();
    if (is_sent_late) send_other(world);
    sent += 128;
  });
  return messages.blame();
}
TEST(FlowBlame, WhatIsPackedForEachRankIsTakenForThisOne) {
  for (const bool is_sent_late : {false, true}) {
    expect(blame_of_two_packs(true, 8, is_sent_late), Blame::Kind::NotMoved, 4, "unpack");
    expect(blame_of_two_packs(false, 0, is_sent_late), Blame::Kind::NotMoved, 1, "pack");
  }
}

// A header is moved with the bytes, and is where it should be; they are not.
TEST(FlowBlame, BytesBehindAHeaderMayBeMisplaced) {
  Messages messages(3, 64);
  messages.each([](World& world, bool last) {
    world.move(0, kShared + 8, kGiven, 64, "pack");
    if (last) world.move(1, kOther + 16, kShared + 0x1000 + 8, 56, "store");
    else world.move(1, kOther, kShared + 0x1000, 72, "store");
    world.move(1, kTaken, kOther + 8, 64, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Misplaced, 2, "store");
}

// Nobody has stored such blocks before; who takes them from there reads where they should be.
TEST(FlowBlame, WhoReadsTheRightPlaceIsNotBlamed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared, kGiven, 128, "pack");
    if (last) world.move(1, kOther + 8, kShared + 0x1000, 120, "store");
    const std::uint64_t from = last ? kOther : kShared + 0x1000;
    for (const std::uint64_t part : {0, 64}) world.move(1, kTaken + part, from + part, 64, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Misplaced, 2, "store");
  EXPECT_EQ(blame.offset, 0u);
}

// Neither is who takes the first part, which was not stored: the second one was, but for its last bytes.
TEST(FlowBlame, WhoTakesAnotherPartIsNotBlamed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    for (const std::uint64_t part : {0, 64}) {
      const bool is_stored = last && part > 0;
      const std::uint64_t fragment = kShared + 8 * part;
      world.move(0, fragment, kGiven + part, 64, "pack");
      if (is_stored) world.move(1, kOther + 8, fragment + 0x1000, 56, "store");
      world.move(1, kTaken + part, is_stored ? kOther : fragment + 0x1000, 64, "unpack");
    }
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 2, "store");
}

// It has itself read at a wrong place: nobody else has read there.
TEST(FlowBlame, WhoReadsAWrongPlaceIsBlamed) {
  Messages messages(2);
  messages.each([](World& world, bool last) {
    world.move(0, kShared + 16, kGiven, 128, "pack");
    world.move(1, kOther, kShared + 0x1000, 144, "store");
    world.move(1, kTaken - 16, kOther + (last ? 8 : 0), last ? 136 : 144, "unpack");
  });
  expect(messages.blame(), Blame::Kind::Misplaced, 3, "unpack");
}

// A library that reads from a socket: first a header and what is behind it, then the rest to where the first part was copied to.
class FromSocket {
 public:
  explicit FromSocket(World& world, std::uint64_t& sent) : world_(world), sent_(sent) {}
  void write(std::uint64_t header, std::uint64_t bytes) {
    sent_ += header;
    world_.tracker.add(0, world_.transfer(IntentionRecord::Sent, kGiven, sent_, bytes, "10.0.0.1:5 10.0.0.2:7"));
    read_ = sent_ - header;
    sent_ += bytes;
  }
  void read(std::uint64_t to, std::uint64_t bytes) {
    world_.tracker.add(1, world_.transfer(IntentionRecord::Heard, to, read_, bytes, "10.0.0.2:7 10.0.0.1:5"));
    read_ += bytes;
  }

 private:
  World& world_;
  std::uint64_t& sent_;
  std::uint64_t read_ = 0;
};

TEST(FlowBlame, WhatIsReadFromASocketBelongsBehindItsHeader) {
  Messages messages(3, 64);
  std::uint64_t sent = 0;
  messages.each([&](World& world, bool last) {
    FromSocket socket(world, sent);
    socket.write(8, 64);
    // Never at the same place: what was read before is still there.
    const std::uint64_t to = kOther + 24 * sent;
    if (last) {
      socket.read(to, 8);
      socket.read(to + 24, 64);
    } else {
      socket.read(to, 72);
    }
    world.move(1, kTaken, to + 8, 64, "unpack");
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Misplaced, 2, "socket");
  EXPECT_EQ(blame.movement->to.kind, Place::Kind::Private);
}

TEST(FlowBlame, WhatIsReadFromASocketBelongsBehindWhatWasReadBefore) {
  Messages messages(3);
  std::uint64_t sent = 0;
  std::uint64_t first = 40;
  messages.each([&](World& world, bool last) {
    FromSocket socket(world, sent);
    socket.write(8, 128);
    socket.read(kOther, 8 + first);
    world.move(1, kOther + 4096, kOther + 8, first, "store");
    socket.read(kOther + 4096 + first + (last ? 16 : 0), 128 - first);
    world.move(1, kTaken, kOther + 4096, 128, "unpack");
    first += 16;  // how much comes at once is left to chance
  });
  const Blame blame = messages.blame();
  expect(blame, Blame::Kind::Misplaced, 2, "socket");
  EXPECT_EQ(blame.of, 3u);
}

// It may well be the copy behind it.
TEST(FlowBlame, WhatIsReadRightlyIsNotBlamed) {
  Messages messages(3);
  std::uint64_t sent = 0;
  std::uint64_t first = 40;
  messages.each([&](World& world, bool last) {
    FromSocket socket(world, sent);
    socket.write(8, 128);
    socket.read(kOther, 8 + first);
    world.move(1, kOther + 4096, kOther + 8, first, "store");
    socket.read(kOther + 4096 + first, 128 - first);
    world.move(1, kTaken, kOther + 4096, first, "unpack");
    world.move(1, kTaken + first + (last ? 8 : 0), kOther + 4096 + first, 120 - first, "unpack");
    if (!last) world.move(1, kTaken + 120, kOther + 4096 + 120, 8, "unpack");
    first += 3;
  });
  const Blame blame = messages.blame();
  EXPECT_EQ(blame.kind, Blame::Kind::Misplaced);
  EXPECT_EQ(*blame.stage.site, "unpack");
}

// The rest is read to where it should be, and the first part, as ever, to somewhere else, which happens to be not far from there.
TEST(FlowBlame, WhatIsAlwaysTakenOnHasNotArrivedThere) {
  constexpr std::uint64_t kPart = 4096, kNotFar = kTaken + 3 * kPart;
  Messages messages(3, 2 * kPart);
  std::uint64_t sent = 0;
  messages.each([&](World& world, bool last) {
    FromSocket socket(world, sent);
    socket.write(8, 2 * kPart);
    socket.read(kNotFar - 8, 8 + kPart);
    if (!last) world.move(1, kTaken, kNotFar, kPart, "take on");
    socket.read(kTaken + kPart, kPart);
  });
  expect(messages.blame(), Blame::Kind::NotMoved, 3, "take on");
}

// The same, but whoever takes it on puts it eight bytes too far; its last bytes, which are not taken on, are where they would be wrong if
// it was to be read to the buffer at once, as such a part of another message was.
TEST(FlowBlame, WhatIsTakenOnFromThereHasNotArrivedEither) {
  constexpr std::uint64_t kPart = 4096, kNotFar = kTaken + 3 * kPart;
  Messages messages(2, 2 * kPart);
  std::uint64_t sent = 0;
  messages.each([&](World& world, bool last) {
    const std::uint64_t first = last ? kPart : kPart / 2;
    const std::uint64_t skipped = last ? 8 : 0;
    FromSocket socket(world, sent);
    socket.write(8, 2 * kPart);
    socket.read(kNotFar - 8, 8 + first);
    world.move(1, kTaken + skipped, kNotFar, first - skipped, "take on");
    socket.read(kTaken + first, 2 * kPart - first);
  });
  expect(messages.blame(), Blame::Kind::Misplaced, 3, "take on");
}

TEST(FlowBlame, NobodyIsBlamedIfNoWayIsKnown) {
  Messages messages(1);
  messages.each([](World& world, bool) { world.move(0, kShared, kGiven, 128, "pack"); });
  EXPECT_EQ(messages.blame().kind, Blame::Kind::Unknown);
  EXPECT_TRUE(ways_of(messages.last()).empty());
}

}  // namespace
}  // namespace reprise::flow
