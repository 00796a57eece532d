#include "flow/blame.hpp"

#include <algorithm>
#include <tuple>

#include "flow/placement.hpp"

namespace reprise::flow {
namespace {

constexpr std::size_t kMostWrong = 64;  // stretches that are looked at
constexpr std::size_t kMostArrived = 4096;

bool is_early(const Journey& journey) { return journey.taker().order < journey.giver().order; }

// Finds out which ways bytes that arrived have gone, and follows those that did not arrive as far as they went.
class Detective {
 public:
  Detective(const Journey& journey, const std::vector<const Journey*>& related) : journey_(journey), index_(journey), placement_(journey, index_) {
    learn(journey, nullptr);
    // Whether a message had to wait for its receive decides how it goes.
    for (const bool same : {true, false})
      for (const Journey* const other : related)
        if ((is_early(*other) == is_early(journey)) == same && (same || known_.empty())) learn(*other, other);
    join_ways();
  }

  Blame blame() {
    std::size_t looked_at = 0;
    for (const Stretch& one : journey_.stretches()) {
      if (one.arrived || looked_at++ >= kMostWrong) continue;
      Verdict best;
      for (KnownWay& way : known_) {
        if (way.is_joined && best.is_sure() && best.gone >= way.stages.size()) continue;
        take(way);
        follow(one);
        if (!best.way || verdict_.rank() > best.rank()) best = verdict_;
      }
      // The earliest movement counts: what comes later only carries on what it was given.
      if (best.way && (!chosen_.way || best.is_before(chosen_))) chosen_ = best;
    }
    if (!chosen_.way) return {};
    Blame found = chosen_.blame;
    found.way = chosen_.way->stages;
    found.of = found.way.size();
    found.related = chosen_.way->from;
    for (const Stretch& one : journey_.stretches()) found.arrived += one.arrived ? one.bytes : 0;
    return found;
  }

 private:
  using Extent = std::pair<std::uint64_t, std::uint64_t>;  // the first and the last byte of the block that a movement carries
  struct KnownWay {
    std::vector<Stage> stages;
    std::vector<UsualPlaces> usual;  // by stage
    const Journey* from = nullptr;   // null: the same
    bool is_joined = false;          // made of others; no byte has arrived by it
    std::vector<std::pair<std::uint64_t, std::uint64_t>> parts{};  // of the block, from and to, that have come by it
  };
  // What follows from the way that is supposed.
  struct Verdict {
    const KnownWay* way = nullptr;
    Blame blame;
    std::size_t gone = 0;     // stages that the bytes were seen at
    bool guessed = false;     // that a movement was wrong is known from where such movements put other bytes
    bool far = false;         // it has ended far from where it should: perhaps it was to go on
    bool borders = false;     // the movement on which it was not has read what is next to it
    bool is_usual = false;    // this part of other blocks has come by this way
    // The way that the bytes were seen on for longer is more likely theirs. Then a movement that was seen to do something
    // wrong is worth more than one that should have been there, and a way that their neighbours went on, or the same part of
    // other blocks, more than others.
    std::tuple<std::size_t, bool, bool, bool, bool, bool, bool, std::size_t> rank() const {
      const bool has_movement = blame.movement != nullptr && !far;
      return {gone, !guessed, is_sure(), borders, is_usual, has_movement, !way->is_joined, way->stages.size()};
    }
    bool is_sure() const { return blame.movement != nullptr && !far && !guessed && blame.kind != Blame::Kind::NotMoved; }
    bool is_before(const Verdict& other) const {
      if (guessed != other.guessed) return other.guessed;
      if ((blame.movement != nullptr) != (other.blame.movement != nullptr)) return blame.movement != nullptr;
      return blame.hop < other.blame.hop;
    }
  };

  void learn(const Journey& journey, const Journey* from) {
    std::map<std::uint32_t, Extent> extents;
    if (from) extents = extents_in(journey);
    std::size_t looked_at = 0;
    for (const Stretch& one : journey.stretches()) {
      if (!one.arrived || looked_at++ >= kMostArrived) continue;
      const auto links = journey.way(one.hop, one.from);
      if (links.empty()) continue;
      std::vector<Stage> stages;
      for (const Link& link : links) {
        Stage stage = stage_of_hop(journey.hops()[link.hop]);
        if (from) {
          if (stage.rank == from->delivery().from) stage.rank = journey_.delivery().from;
          else if (stage.rank == from->delivery().to) stage.rank = journey_.delivery().to;
        }
        stages.push_back(stage);
      }
      auto known = std::find_if(known_.begin(), known_.end(), [&](const KnownWay& way) {
        return std::equal(way.stages.begin(), way.stages.end(), stages.begin(), stages.end(), is_same);
      });
      if (known == known_.end()) {
        known_.push_back({stages, std::vector<UsualPlaces>(stages.size()), from});
        known = std::prev(known_.end());
      }
      auto& parts = known->parts;
      if (!parts.empty() && parts.back().second == one.offset) parts.back().second += one.bytes;
      else parts.emplace_back(one.offset, one.offset + one.bytes);
      for (std::size_t i = 0; i < links.size(); ++i) {
        known->usual[i].add(journey, journey.hops()[links[i].hop]);
        if (from) extents_[index_.number_of(stages[i])].insert(extents[links[i].hop]);
      }
    }
  }

  // By movement.
  static std::map<std::uint32_t, Extent> extents_in(const Journey& journey) {
    std::map<std::uint32_t, Extent> extents;
    for (const Stretch& one : journey.stretches()) {
      if (!one.arrived) continue;
      for (const Link& link : journey.way(one.hop, one.from)) {
        auto& [first, last] = extents.try_emplace(link.hop, UINT64_MAX, 0).first->second;
        first = std::min(first, one.offset);
        last = std::max(last, one.offset + one.bytes - 1);
      }
    }
    return extents;
  }

  // Whole blocks and parts of blocks are often packed in different places of the same function, and unpacked, too: a way may
  // begin or end as another one does.
  void join_ways() {
    constexpr std::size_t kMostWays = 8;
    const std::size_t known = std::min(known_.size(), kMostWays);
    for (std::size_t i = 0; i < known; ++i) leave_out_storing(known_[i]);
    for (std::size_t i = 0; i < known; ++i)
      for (std::size_t k = 0; k < known; ++k) {
        join(known_[i], known_[k], true, false);
        join(known_[i], known_[k], false, true);
        join(known_[i], known_[k], true, true);
      }
  }

  // What comes in time is not stored by whoever takes it.
  void leave_out_storing(const KnownWay& longer) {
    for (std::size_t at = 0; at + 1 < longer.stages.size(); ++at) {
      const Stage& stage = longer.stages[at];
      if (at == 0 || stage.rank != longer.stages[at + 1].rank || stage.kind != longer.stages[at + 1].kind) continue;
      KnownWay way = longer;
      way.is_joined = true;
      way.parts.clear();
      way.stages.erase(way.stages.begin() + static_cast<std::ptrdiff_t>(at));
      way.usual.erase(way.usual.begin() + static_cast<std::ptrdiff_t>(at));
      if (!is_known(way.stages)) known_.push_back(std::move(way));
    }
  }

  void join(const KnownWay& middle, const KnownWay& ends, bool first, bool last) {
    if (middle.stages.size() < 2 || ends.stages.empty()) return;
    KnownWay way = middle;
    way.is_joined = true;
    way.parts.clear();
    const auto replace = [&](std::size_t at, std::size_t by) {
      const Stage& stage = ends.stages[by];
      if (stage.rank != way.stages[at].rank || stage.kind != way.stages[at].kind) return false;
      way.stages[at] = stage;
      way.usual[at] = ends.usual[by];
      return true;
    };
    if (first && !replace(0, 0)) return;
    if (last && !replace(way.stages.size() - 1, ends.stages.size() - 1)) return;
    if (!is_known(way.stages)) known_.push_back(std::move(way));
  }

  bool is_known(const std::vector<Stage>& stages) const {
    return std::any_of(known_.begin(), known_.end(), [&](const KnownWay& way) {
      return std::equal(way.stages.begin(), way.stages.end(), stages.begin(), stages.end(), is_same);
    });
  }

  const std::vector<Stage>& way() const { return taken_->stages; }

  std::size_t after(std::uint32_t hop) const { return hop == kNoHop ? journey_.first_hop() : hop + 1; }

  void take(KnownWay& way) {
    taken_ = &way;
    numbers_.clear();
    for (const Stage& stage : way.stages) numbers_.push_back(index_.number_of(stage));
    verdict_ = {};
    verdict_.way = &way;
  }

  bool is_of(std::size_t hop, std::size_t stage) const { return index_.stage_of(hop) == numbers_[stage]; }

  // The movement at this stage that carries the byte on from where `before` has put it.
  std::optional<std::uint32_t> next(std::size_t stage, std::uint64_t source, std::uint32_t before) const {
    const auto* const found = index_.first(numbers_[stage], source, [&](const JourneyIndex::Carried& one) {
      return one.before == before && one.hop >= after(before) && leads_on(stage, one.hop, source);
    });
    return found ? std::optional(found->hop) : std::nullopt;
  }

  // Not to another rank: what is broadcast is moved for each of them; and what is used again for another message may have kept the
  // label of bytes that nobody was seen to overwrite there.
  bool leads_on(std::size_t stage, std::uint32_t hop, std::uint64_t source) const {
    if (stage + 1 >= way().size()) return true;
    const std::uint32_t expected = way()[stage + 1].rank;
    const Place& to = journey_.hops()[hop].to;
    if (to.kind != Place::Kind::Private && !index_.may_read(expected, to)) return false;
    bool by_it = false;
    bool by_others = false;
    const auto look_at = [&](const JourneyIndex::Carried& one) {
      if (one.before == hop) (journey_.hops()[one.hop].rank == expected ? by_it : by_others) = true;
      return by_it;
    };
    for (std::uint32_t number = 0; number < index_.stages() && !by_it; ++number) index_.first(number, source, look_at);
    return by_it || !by_others;
  }

  std::size_t stages_gone(const Stretch& stretch) const {
    std::uint32_t before = kNoHop;
    for (std::size_t stage = 0; stage < way().size(); ++stage) {
      const auto hop = next(stage, stretch.from, before);
      if (!hop) return stage;
      before = *hop;
    }
    return way().size();
  }

  void follow(const Stretch& stretch) {
    verdict_.gone = stages_gone(stretch);
    verdict_.is_usual = std::any_of(taken_->parts.begin(), taken_->parts.end(), [&](const auto& part) {
      return part.first <= stretch.offset && stretch.offset < part.second;
    });
    std::uint32_t before = kNoHop;
    for (std::size_t stage = 0; stage < way().size(); ++stage) {
      const auto hop = next(stage, stretch.from, before);
      if (!hop) return stops_before(stage, stretch, before);
      const Hop& movement = journey_.hops()[*hop];
      if (movement.wrong) return accuse(Blame::Kind::Packing, stage, &movement, stretch);
      const bool last = stage + 1 == way().size();
      if (!last && is_misplaced(movement, stage, stretch)) return accuse(Blame::Kind::Misplaced, stage, &movement, stretch);
      before = *hop;
    }
    arrived_elsewhere(stretch, before);
  }

  bool is_misplaced(const Hop& movement, std::size_t stage, const Stretch& stretch) {
    const Placed placed = placement_.look_at(movement, {stage, way().size(), numbers_[stage], &way()[stage], &taken_->usual[stage]}, stretch);
    verdict_.guessed = placed == Placed::Unusual;
    return placed != Placed::Right;
  }

  // The last movement has carried it. To the right place? Then somebody has written there since.
  void arrived_elsewhere(const Stretch& stretch, std::uint32_t last) {
    const auto hops = journey_.hops();
    const Hop& movement = hops[last];
    const auto at = journey_.carries(movement, stretch.from, before_of(movement, stretch.from));
    if (at && movement.to.kind == Place::Kind::Private && movement.to.address + *at == stretch.to) {
      for (std::size_t i = hops.size(); i-- > last + 1;) {
        const Hop& other = hops[i];
        const bool over = other.to.kind == movement.to.kind && other.to.number == movement.to.number && other.to.address <= stretch.to &&
                          stretch.to < other.to.address + other.bytes;
        if (over) return accuse(Blame::Kind::Overwritten, way().size() - 1, &other, stretch);
      }
    }
    const std::uint64_t distance = movement.to.address > stretch.to ? movement.to.address - stretch.to : stretch.to - movement.to.address;
    verdict_.far = movement.to.kind != Place::Kind::Private || movement.to.number != journey_.delivery().to || distance > kNear + journey_.bytes();
    accuse(Blame::Kind::Misplaced, way().size() - 1, &movement, stretch);
  }

  std::uint32_t before_of(const Hop& hop, std::uint64_t source) const {
    for (const Labelled& one : hop.labels)
      if (source >= one.label.address && source - one.label.address < one.bytes && journey_.is_of_giver(one.label.operation)) return one.label.hop;
    return kNoHop;
  }

  // Nobody has carried it on. Why?
  void stops_before(std::size_t stage, const Stretch& stretch, std::uint32_t before) {
    const auto hops = journey_.hops();
    Place place{Place::Kind::Private, journey_.delivery().from, stretch.from};
    if (before != kNoHop) {
      place = hops[before].to;
      if (const auto at = journey_.carries(hops[before], stretch.from, before_of(hops[before], stretch.from))) place.address += *at;
    }
    const auto covers = [&](const Place& where, std::uint64_t bytes) {
      return where.kind == place.kind && where.number == place.number && where.address <= place.address && place.address < where.address + bytes;
    };
    const auto is_near = [&](const Place& where) {
      const std::uint64_t distance = where.address > place.address ? where.address - place.address : place.address - where.address;
      return where.kind == place.kind && where.number == place.number && distance < kNear;
    };
    for (std::size_t i = after(before); i < hops.size(); ++i) {
      const Hop& other = hops[i];
      // Its neighbours were taken on: it was left out, and the place may be used again.
      if (stage > 0 && is_of(i, stage) && is_near(other.from)) break;
      // A movement that should read it there has read something else: it was overwritten before.
      if (is_of(i, stage) && covers(other.from, other.bytes)) break;
      if (!covers(other.to, other.bytes)) continue;
      if (!has_some(other.overwritten)) continue;
      // What it has read is not of the block: it was to be written. Otherwise the place was just used again, but for the send buffer.
      if (is_of(i, stage) && (stage == 0 || !has_some(other.labels))) return accuse(Blame::Kind::Reversed, stage, &other, stretch);
      if (stage > 0 && is_of(i, stage - 1)) {
        // And was read from there in its stead.
        const bool last = stage + 1 == way().size();
        const bool was_read = any_of(stage, i, [&](const Hop& later) {
          return covers(later.from, later.bytes) && (!last || later.to.address + (place.address - later.from.address) == stretch.to);
        });
        if (was_read && !has_arrived(other, place.address - other.to.address)) return accuse(Blame::Kind::Overwritten, stage - 1, &other, stretch);
      }
    }
    // What is next to it in the block as well: the place may be used again for another part. If it is what such movements carry
    // otherwise, it is not too short.
    verdict_.borders = any_of(stage, after(before), [&](const Hop& other) {
      const bool before_it = other.from.address + other.bytes == place.address;
      const bool behind_it = other.from.address == place.address + stretch.bytes;
      if ((!before_it && !behind_it) || other.from.kind != place.kind || other.from.number != place.number || !has_some(other.labels)) return false;
      const std::uint64_t first = placement_.first_offset(other);
      const std::uint64_t last = placement_.last_offset(other);
      if (const auto known = extents_.find(numbers_[stage]); known != extents_.end() && known->second.contains({first, last})) return false;
      return (before_it && last + 1 == stretch.offset) || (behind_it && first == stretch.offset + stretch.bytes);
    });
    accuse(Blame::Kind::NotMoved, stage, nearest(stage, stretch), stretch);
  }

  bool has_some(const std::vector<Labelled>& labels) const {
    return std::any_of(labels.begin(), labels.end(), [&](const Labelled& one) { return journey_.is_of_giver(one.label.operation); });
  }

  // Does it hold for a movement of this stage, from this one on?
  template <class Holds>
  bool any_of(std::size_t stage, std::size_t first, Holds holds) const {
    const auto hops = journey_.hops();
    for (std::size_t i = first; i < hops.size(); ++i)
      if (is_of(i, stage) && holds(hops[i])) return true;
    return false;
  }

  // Is this byte of what was moved one that came to its right place?
  bool has_arrived(const Hop& hop, std::uint64_t at) const {
    for (const Labelled& one : hop.labels) {
      if (at < one.at || at - one.at >= one.bytes || !journey_.is_of_giver(one.label.operation)) continue;
      if (const Stretch* const stretch = index_.stretch_with(one.label.address + (at - one.at))) return stretch->arrived;
    }
    return false;
  }

  // What was moved at this stage next to it: a copy that is too short, or that began too late.
  const Hop* nearest(std::size_t stage, const Stretch& stretch) const {
    const auto* const found = index_.nearest(numbers_[stage], stretch.from, [&](const JourneyIndex::Carried& one) {
      return comes_by(one.before, stage) && leads_on(stage, one.hop, one.source);
    });
    return found ? &journey_.hops()[found->hop] : nullptr;
  }

  // Was the movement before it one of the stage before?
  bool comes_by(std::uint32_t hop, std::size_t stage) const {
    if (hop == kNoHop || stage == 0) return hop == kNoHop && stage == 0;
    return is_of(hop, stage - 1);
  }

  void accuse(Blame::Kind kind, std::size_t stage, const Hop* movement, const Stretch& stretch) {
    Blame& found = verdict_.blame;
    found.kind = kind;
    found.hop = stage + 1;
    found.stage = way()[stage];
    found.movement = movement;
    found.offset = stretch.offset;
  }

  const Journey& journey_;
  const JourneyIndex index_;
  const Placement placement_;
  std::deque<KnownWay> known_;
  std::map<std::uint32_t, std::set<Extent>> extents_;  // of other blocks, by stage
  // The one that is supposed.
  KnownWay* taken_ = nullptr;
  std::vector<std::uint32_t> numbers_;  // of its stages
  Verdict verdict_;
  Verdict chosen_;
};

}  // namespace

Blame find_blame(const Journey& journey, const std::vector<const Journey*>& related) { return Detective(journey, related).blame(); }

}  // namespace reprise::flow
