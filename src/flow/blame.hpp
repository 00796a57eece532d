// Where a block of bytes went wrong on its way (FlowChecker's MF-Checker, section III-E): the first movement that does not do
// what the same movement does for bytes that arrive.
#pragma once

#include "flow/journey.hpp"

namespace reprise::flow {

struct Blame {
  enum class Kind : std::uint8_t {
    Unknown,      // it cannot be said
    NotMoved,     // the bytes stayed where the movement before had put them
    Misplaced,    // it has put them to a wrong place, or taken others
    Overwritten,  // it has put others over them
    Reversed,     // it has written to where it should read from
    Packing,      // the bytes it has packed are not those that it should pack
  };
  Kind kind = Kind::Unknown;
  std::size_t hop = 0;  // counted from 1
  std::size_t of = 0;
  Stage stage;
  const Hop* movement = nullptr;  // if there is one
  const Journey* related = nullptr;  // the way is known from its bytes
  std::uint64_t offset = 0;       // the first byte of the block that went wrong there
  std::vector<Stage> way;         // that they should have gone
  std::uint64_t arrived = 0;      // bytes of the same block that went that way and arrived
  const Hop* before = nullptr;    // NotMoved: the last one that has moved them; null: they are where they were given
  const Hop* landed = nullptr;    // the last movement to where they should be
  bool is_part = false;           // NotMoved: what is beside it was moved on from there, by a copy that is too short or begins too late
  bool is_guessed = false;        // from where such movements put other bytes
  std::vector<const Hop*> came_by;  // what has moved them until then

  bool is_at_the_end() const { return hop == of; }
};

// Blocks of the same collective may have gone wrong together, by one movement. Does what is known of the other one explain this one?
// One that only carried on what had gone wrong before is not to blame; and where the same movement is missing for both, it is known
// best of the block that should have come by it.
bool is_explained_by(const Blame& one, const Blame& other);

// `related`: bytes of other calls that arrived.
Blame find_blame(const Journey& journey, const std::vector<const Journey*>& related);

}  // namespace reprise::flow
