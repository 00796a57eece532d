// The ways on which bytes of a block may have gone: those of bytes that arrived, and what can be made of them.
#pragma once

#include <deque>

#include "flow/placement.hpp"

namespace reprise::flow {

// Of a block, from and to.
using Parts = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
inline bool has_part(const Parts& parts, std::uint64_t offset) {
  return std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part.first <= offset && offset < part.second; });
}

struct KnownWay {
  std::vector<Stage> stages;
  std::vector<UsualPlaces> usual;  // by stage
  const Journey* from = nullptr;   // whose bytes have gone it; null: of the same block
  bool is_joined = false;          // made of others; no byte has arrived by it
  bool is_supposed = false;        // and one of its movements was never seen on any: it must explain what came to the buffer
  Parts parts{};  // that have come by it
};

class KnownWays {
 public:
  // `related`: bytes of other calls that arrived.
  KnownWays(const Journey& journey, const JourneyIndex& index, const std::vector<const Journey*>& related);

  std::deque<KnownWay>& all() { return known_; }

  // Adds ways that begin as the first byte of this stretch was seen to go, as far as it went or less, and end as known ones do: a rank
  // that passes bytes on may store them first, or not, as chance will have it.
  void continue_from(const Stretch& stretch);

  // Which ranks pass on a part of a block is up to the algorithm, and the same in each of these calls: whether one of them stores it first,
  // or where in the library, is not. Can a byte at this offset have gone this way? Nobody knows until others have come by these calls.
  bool may_go(const KnownWay& way, std::uint64_t offset) const;

  // Do movements of this stage carry just these bytes of other blocks, from the first to the last?
  bool usually_carries(std::uint32_t stage, std::uint64_t first, std::uint64_t last) const {
    return contains(extents_, stage, {first, last}) || contains(last_extents_, stage, {first, last});
  }
  // And are these always taken on from there?
  bool usually_pass_on(std::uint32_t stage, std::uint64_t first, std::uint64_t last) const {
    return contains(extents_, stage, {first, last}) && !contains(last_extents_, stage, {first, last});
  }

 private:
  using Extent = std::pair<std::uint64_t, std::uint64_t>;  // the first and the last byte of the block that a movement carries
  using Extents = std::map<std::uint32_t, std::set<Extent>>;  // by stage

  static bool contains(const Extents& extents, std::uint32_t stage, const Extent& one) {
    const auto known = extents.find(stage);
    return known != extents.end() && known->second.contains(one);
  }
  using Route = std::vector<std::uint32_t>;  // ranks, from the one that gives to the one that takes
  void learn(const Journey& journey, const Journey* from);
  Route route_of(const KnownWay& way) const;
  static std::map<std::uint32_t, Extent> extents_in(const Journey& journey);
  struct Taken {
    std::vector<std::uint32_t> ranks;  // that take something from there, the first one first
    std::uint64_t source = 0;          // of one byte of it
    std::uint32_t times = 0;           // that this one is taken
  };
  using Takers = std::unordered_map<std::uint32_t, Taken>;  // by movement
  static Takers takers_in(const Journey& journey);
  static bool is_for_several(const Journey& journey, const Takers& takers, const Link& link, const Link& next);
  void learn_takers();
  void join_ways();
  void leave_out_storing(const KnownWay& longer);
  bool ends_a_way(const Stage& stage) const;
  void join(const KnownWay& middle, const KnownWay& ends, bool first, bool last);
  void go_on(std::uint64_t source, std::vector<std::uint32_t>& chain);
  void end_as_known(const std::vector<std::uint32_t>& chain);
  template <class Matches>
  bool end_as_known(const std::vector<Stage>& begin, Matches matches, bool own_only);
  void suppose_end(const std::vector<Stage>& begin);
  UsualPlaces usual_before(const Stage& stage, const Stage& next) const;
  bool is_known(const std::vector<Stage>& stages) const;
  void add(KnownWay way);

  const Journey& journey_;
  const JourneyIndex& index_;
  std::deque<KnownWay> known_;
  std::size_t learned_ = 0;  // the first ones, on which bytes have arrived
  std::map<Route, Parts> routes_;   // of other blocks of the same calls
  Extents extents_, last_extents_;  // of other blocks: where they pass, and where they arrive
};

}  // namespace reprise::flow
