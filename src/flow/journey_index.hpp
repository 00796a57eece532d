// What the movements of one journey carry, found by the bytes: a large block of small pieces has hundreds of thousands of them.
#pragma once

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>

#include "flow/journey.hpp"

namespace reprise::flow {

class JourneyIndex {
 public:
  static constexpr std::uint32_t kNoStage = UINT32_MAX;

  // Some bytes of the block, in one movement.
  struct Carried {
    std::uint64_t source = 0;  // where they were given
    std::uint64_t bytes = 0;
    std::uint64_t at = 0;  // in what was moved
    std::uint32_t hop = 0;
    std::uint32_t before = kNoHop;  // the movement that brought them there
  };

  // Some bytes that were taken from where a movement had put them.
  struct Taken {
    std::uint64_t source = 0;
    std::uint64_t bytes = 0;
    std::uint32_t rank = 0;
    std::size_t hop = 0;  // by this one; those behind the last one of the journey were after it
    bool again = false;   // its first byte was taken before
  };

  explicit JourneyIndex(const Journey& journey);

  // Stages are numbered; those that no movement of this journey belongs to have no number.
  std::uint32_t number_of(const Stage& stage) const;
  std::uint32_t stage_of(std::size_t hop) const { return stages_[hop]; }
  // The movements of a stage, in their order.
  const std::vector<std::uint32_t>& hops_of(std::uint32_t stage) const { return stage == kNoStage ? kNone : hops_of_[stage]; }
  std::span<const Taken> taken_from(std::uint32_t hop) const {
    const auto found = taken_.find(hop);
    return found == taken_.end() ? std::span<const Taken>() : std::span<const Taken>(found->second);
  }
  std::uint32_t stages() const { return static_cast<std::uint32_t>(carried_.size()); }
  // Of the same rank and kind, anywhere in the library.
  std::vector<std::uint32_t> stages_like(const Stage& stage) const;

  // The first movement of a stage that carries this byte and that is accepted.
  template <class Accept>
  const Carried* first(std::uint32_t stage, std::uint64_t source, Accept accept) const {
    const Carried* found = nullptr;
    if (stage == kNoStage) return found;
    const Pieces& all = carried_[stage];
    for (auto one = behind(all, source); one != all.pieces.begin() && source - std::prev(one)->source < all.longest;) {
      --one;
      if (source - one->source < one->bytes && (!found || one->hop < found->hop) && accept(*one)) found = &*one;
    }
    return found;
  }

  // The accepted one that carries what is next to this byte.
  template <class Accept>
  const Carried* nearest(std::uint32_t stage, std::uint64_t source, Accept accept) const {
    if (stage == kNoStage) return nullptr;
    const std::vector<Carried>& all = carried_[stage].pieces;
    const auto middle = behind(carried_[stage], source);
    const auto right = std::find_if(middle, all.end(), accept);
    const auto left = std::find_if(std::make_reverse_iterator(middle), all.rend(), accept);
    if (left == all.rend()) return right == all.end() ? nullptr : &*right;
    const std::uint64_t end = left->source + left->bytes;
    return right == all.end() || (end > source ? 0 : source - end) <= right->source - source ? &*left : &*right;
  }

  // Does this rank read what is put there? Nobody knows until somebody has read from this stream, or this segment.
  bool may_read(std::uint32_t rank, const Place& place) const {
    const auto found = readers_.find({place.kind, place.number});
    return found == readers_.end() || found->second.contains(rank);
  }

  // Does this rank take what that movement has carried of the byte, or if it is shared, the first of all? None: nobody does.
  std::optional<bool> is_taken_by(std::uint32_t rank, std::uint32_t hop, bool is_shared, std::uint64_t source) const;

  // The stretch that the byte is part of; none: it is not of the block.
  const Stretch* stretch_with(std::uint64_t source) const;

 private:
  struct Pieces {
    std::vector<Carried> pieces;  // by source
    std::uint64_t longest = 0;
  };
  static std::vector<Carried>::const_iterator behind(const Pieces& all, std::uint64_t source) {
    return std::upper_bound(all.pieces.begin(), all.pieces.end(), source, [](std::uint64_t at, const Carried& one) { return at < one.source; });
  }

  std::map<std::tuple<std::uint32_t, trace::IntentionRecord, std::string_view>, std::uint32_t> numbers_;
  std::vector<std::uint32_t> stages_;  // by movement
  std::vector<Pieces> carried_;        // by stage
  std::vector<std::vector<std::uint32_t>> hops_of_;  // the same
  inline static const std::vector<std::uint32_t> kNone;
  void take_from(const Journey& journey, const Hop& hop, std::size_t number);
  static void find_again(std::vector<Taken>& taken);

  std::unordered_map<std::uint32_t, std::vector<Taken>> taken_;  // by the movement from whose place it was taken, also after the journey
  std::vector<const Stretch*> by_source_;
  std::map<std::pair<Place::Kind, std::uint32_t>, std::set<std::uint32_t>> readers_;  // of streams and segments
};

}  // namespace reprise::flow
