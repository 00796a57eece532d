// Whether a movement has put the bytes of a block where they belong: behind their neighbours, or, if they have none, where such
// movements put bytes that arrive.
#pragma once

#include "flow/journey_index.hpp"

namespace reprise::flow {

// Bytes of one fragment lie as close as that.
constexpr std::uint64_t kNear = 4096;

// Where one stage of a way puts bytes that arrive.
struct UsualPlaces {
  std::set<std::uint64_t> slots;    // where in a slot, the first of them
  std::set<std::uint64_t> gaps;     // what is read from a stream: how far behind the bytes that were read before
  std::set<std::uint64_t> headers;  // how much it moves in front of them
  bool for_several = false;         // more than one rank takes them from there
  bool taken_again = false;         // more than one movement does
  std::optional<bool> continues;    // if it was asked: behind each other, although several movements put them there

  void add(const Journey& journey, const Hop& movement);
  void add_takers(const UsualPlaces& other) {
    for_several = for_several || other.for_several;
    taken_again = taken_again || other.taken_again;
  }
};

// One stage of a way that is supposed.
struct SupposedStage {
  std::size_t stage = 0;
  std::size_t of = 0;
  std::uint32_t number = 0;  // JourneyIndex
  const Stage* what = nullptr;
  UsualPlaces* usual = nullptr;
};

enum class Placed : std::uint8_t {
  Right,    // nothing speaks against it
  Unusual,  // other than such movements do
  Wrong,    // not where its neighbours are
};

class Placement {
 public:
  Placement(const Journey& journey, const JourneyIndex& index) : journey_(journey), index_(index) {}

  Placed look_at(const Hop& movement, const SupposedStage& stage, const Stretch& stretch) const;

  // How far behind where they belong in the buffer bytes were put by who took them from where this movement had put them. None: elsewhere.
  std::optional<std::uint64_t> displacement(const JourneyIndex::Taken& taken, std::uint32_t from) const;

  // The first and the last byte of the block that a movement carries.
  std::uint64_t first_offset(const Hop& hop) const;
  std::uint64_t last_offset(const Hop& hop) const;

 private:
  Placed look_at_read(const Hop& movement, const SupposedStage& stage) const;
  std::optional<Placed> beside_what_was_read_before(const Hop& movement, const Labelled& first, const SupposedStage& stage) const;
  bool usually_continues(const SupposedStage& stage) const;
  bool count_continuing(const SupposedStage& stage) const;
  bool is_beside(const Hop& movement, const SupposedStage& stage, std::uint64_t target, std::uint64_t distance, std::uint64_t offset) const;
  std::optional<Place> address_at(std::uint32_t number, std::uint64_t offset, const Hop* but) const;
  const Stretch* stretch_at(std::uint64_t offset) const;
  bool arrived(std::uint64_t offset) const;
  std::uint64_t offset_of(std::uint64_t source) const;

  const Journey& journey_;
  const JourneyIndex& index_;
};

}  // namespace reprise::flow
