#include "flow/blame.hpp"

#include <algorithm>

#include "flow/finding.hpp"
#include "flow/place_history.hpp"

namespace reprise::flow {
namespace {

constexpr std::size_t kMostWrong = 128;  // bytes that are looked at

// Follows bytes that did not arrive as far as they went, on each way that they may have gone.
class Detective {
 public:
  Detective(const Journey& journey, const std::vector<const Journey*>& related)
      : journey_(journey), index_(journey), placement_(journey, index_), known_(journey, index_, related) {}

  Blame blame() {
    std::vector<Stretch> wrong;
    for (const Stretch& one : journey_.stretches()) {
      if (one.arrived || wrong.size() >= kMostWrong) continue;
      wrong.push_back(one);
      // Its first bytes may have been left out, and the last ones put to a wrong place.
      if (const std::uint64_t last = one.bytes - 1; last > 0) wrong.push_back({one.offset + last, 1, one.from + last, one.to + last});
    }
    for (const Stretch& one : wrong) known_.continue_from(one);  // which way some of them went may be that of the others
    for (const Stretch& one : wrong) look_at(one);
    if (!chosen_.way) return {};
    Blame found = chosen_.blame;
    found.way = chosen_.way->stages;
    found.of = found.way.size();
    if (found.kind == Blame::Kind::NotMoved) found.way[found.hop - 1] = found.stage;
    found.related = chosen_.way->from;
    found.is_part = chosen_.borders;
    for (const Stretch& one : journey_.stretches()) found.arrived += one.arrived ? one.bytes : 0;
    return found;
  }

 private:
  void look_at(const Stretch& one) {
    look_where_it_should_be(one);
    Finding best = likeliest(one, true);
    if (!best.way) best = likeliest(one, false);
    if (best.blame.kind == Blame::Kind::NotMoved && !best.is_usual && !best.borders) look_where_its_part_is_moved(best, one);
    // The earliest movement counts: what comes later only carries on what it was given.
    if (best.way && (!chosen_.way || best.is_before(chosen_))) chosen_ = best;
  }

  Finding likeliest(const Stretch& one, bool as_usual) {
    Finding best;
    for (KnownWay& way : known_.all()) {
      if (way.is_joined && best.is_sure() && best.gone >= way.stages.size()) continue;
      if (as_usual && !known_.may_go(way, one.offset)) continue;
      take(way);
      follow(one);
      if (way.is_supposed && !found_.goes_on) continue;
      if (!best.way || found_.rank() > best.rank()) best = found_;
    }
    return best;
  }

  // On a way that no block of this kind has gone, it is a movement of the rest of the block that is missing. This part of other blocks may be
  // moved elsewhere in the library, also on other ways.
  void look_where_its_part_is_moved(Finding& best, const Stretch& stretch) {
    const auto next_rank = [](const std::vector<Stage>& stages, std::size_t at) { return at + 1 < stages.size() ? stages[at + 1].rank : UINT32_MAX; };
    const std::uint32_t next = next_rank(best.way->stages, best.blame.hop - 1);
    const Stage* found = nullptr;
    for (const KnownWay& way : known_.all()) {
      if (way.is_joined || !has_part(way.parts, stretch.offset)) continue;
      for (std::size_t i = 0; i < way.stages.size(); ++i) {
        const Stage& stage = way.stages[i];
        if (is_same(stage, best.blame.stage)) return;
        if (stage.rank == best.blame.stage.rank && stage.kind == best.blame.stage.kind && next_rank(way.stages, i) == next) found = &stage;
      }
    }
    if (!found) return;
    best.blame.stage = *found;
    best.blame.movement = nullptr;
  }

  const std::vector<Stage>& way() const { return taken_->stages; }

  std::size_t after(std::uint32_t hop) const { return hop == kNoHop ? journey_.first_hop() : hop + 1; }

  void take(KnownWay& way) {
    taken_ = &way;
    numbers_.clear();
    for (const Stage& stage : way.stages) numbers_.push_back(index_.number_of(stage));
    found_ = {};
    found_.way = &way;
  }

  bool is_of(std::size_t hop, std::size_t stage) const { return index_.stage_of(hop) == numbers_[stage]; }

  // The movements by which the byte has gone furthest on this way. What is given to several ranks is packed for each of them, and which
  // of these was for this one is known only from what came of it.
  void find_chain(std::uint64_t source) {
    chain_.clear();
    std::vector<std::uint32_t> tried;
    extend(source, tried);
  }

  void extend(std::uint64_t source, std::vector<std::uint32_t>& tried) {
    if (tried.size() > chain_.size()) chain_ = tried;
    const std::size_t stage = tried.size();
    if (stage == way().size()) return;
    const std::uint32_t before = tried.empty() ? kNoHop : tried.back();
    std::vector<std::uint32_t> next;
    index_.first(numbers_[stage], source, [&](const JourneyIndex::Carried& one) {
      const bool fits = one.before == before && one.hop >= after(before) && leads_on(stage, one.hop, source);
      if (fits && !is_for_others(stage, one.hop, source) && !was_left_out(stage, one, source)) next.push_back(one.hop);
      return false;  // all of them
    });
    std::sort(next.begin(), next.end());
    // What is taken from there later is what was left of it, in something else.
    const bool only_once = stage > 0 && !taken_->usual[stage - 1].for_several && !taken_->usual[stage - 1].taken_again;
    if (only_once && next.size() > 1) next.resize(1);
    for (const std::uint32_t hop : next) {
      tried.push_back(hop);
      extend(source, tried);
      tried.pop_back();
      if (chain_.size() == way().size()) return;
    }
  }

  // Not to another rank: what is broadcast is moved for each of them; and what is used again for another message may have kept the
  // label of bytes that nobody was seen to overwrite there.
  bool leads_on(std::size_t stage, std::uint32_t hop, std::uint64_t source) const {
    if (stage + 1 >= way().size()) return true;
    const std::uint32_t expected = way()[stage + 1].rank;
    const Place& to = journey_.hops()[hop].to;
    if (to.kind != Place::Kind::Private && !index_.may_read(expected, to)) return false;
    return taken_->usual[stage].for_several || index_.is_taken_by(expected, hop, to.kind == Place::Kind::Shared, source).value_or(true);
  }

  // Was the byte taken on from there, and like all else that this movement has put there to other ranks, or too late? What is taken again was
  // only left there.
  bool is_for_others(std::size_t stage, std::uint32_t hop, std::uint64_t source) const {
    if (stage + 1 >= way().size() || taken_->usual[stage].for_several || taken_->usual[stage].taken_again) return false;
    const std::size_t end = journey_.hops().size();
    bool is_taken = false;
    for (const JourneyIndex::Taken& one : index_.taken_from(hop)) {
      const bool too_late = one.hop >= end;
      if (!too_late && !is_of(one.hop, stage + 1)) continue;
      if (too_late && !(journey_.is_given_at(one.hop) && is_same(stage_of_hop(journey_.later_hops()[one.hop - end]), way()[stage + 1]))) continue;
      if (!too_late && leads_on(stage + 1, static_cast<std::uint32_t>(one.hop), one.source) && !one.again) return false;
      is_taken = is_taken || (one.source <= source && source - one.source < one.bytes);
    }
    return is_taken;
  }

  // What is written to a socket goes there in its order. Was what is behind the byte, in the same place, written there before? Then this is
  // something else, in whose way it still was.
  bool was_left_out(std::size_t stage, const JourneyIndex::Carried& carried, std::uint64_t source) const {
    const auto hops = journey_.hops();
    const Hop& movement = hops[carried.hop];
    const Stretch* const stretch = index_.stretch_with(source);
    if (movement.to.kind != Place::Kind::Stream || !stretch) return false;
    const std::uint64_t offset = stretch->offset + (source - stretch->from);
    const std::uint64_t address = movement.from.address + carried.at + (source - carried.source);
    return any_of(stage, after(carried.before), [&](const Hop& other) {
      if (&other >= &movement || other.to.number != movement.to.number || other.from.address <= address || !has_some(other.labels)) return false;
      const std::uint64_t first = placement_.first_offset(other);
      return first > offset && other.from.address + journey_.first_at(other).value_or(0) == address + (first - offset);
    });
  }

  void follow(const Stretch& stretch) {
    find_chain(stretch.from);
    found_.gone = chain_.size();
    found_.is_usual = has_part(taken_->parts, stretch.offset);
    std::uint32_t before = kNoHop;
    for (std::size_t stage = 0; stage < way().size(); ++stage) {
      if (stage == chain_.size()) return stops_before(stage, stretch, before);
      const std::uint32_t hop = chain_[stage];
      const Hop& movement = journey_.hops()[hop];
      if (movement.wrong) return accuse(Blame::Kind::Packing, stage, &movement, stretch);
      const bool last = stage + 1 == way().size();
      if (!last && is_misplaced(movement, stage, stretch)) return accuse(Blame::Kind::Misplaced, stage, &movement, stretch);
      before = hop;
    }
    arrived_elsewhere(stretch, before);
  }

  bool is_misplaced(const Hop& movement, std::size_t stage, const Stretch& stretch) {
    const Placed placed = placement_.look_at(movement, {stage, way().size(), numbers_[stage], &way()[stage], &taken_->usual[stage]}, stretch);
    found_.guessed = placed == Placed::Unusual;
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
    const std::size_t stage = way().size() - 1;
    if (at && has_taken_from_wrong_place(stage, movement, *at, stretch)) return accuse(Blame::Kind::Misplaced, stage - 1, &hops[chain_[stage - 1]], stretch);
    const std::uint64_t distance = movement.to.address > stretch.to ? movement.to.address - stretch.to : stretch.to - movement.to.address;
    found_.far = movement.to.kind != Place::Kind::Private || movement.to.number != journey_.delivery().to || distance > kNear + journey_.bytes() ||
                   (distance >= kNear && known_.usually_pass_on(numbers_[stage], placement_.first_offset(movement), placement_.last_offset(movement)));
    if (is_taken_to_the_buffer(last)) {
      found_.far = true;
      --found_.gone;  // it is not as the last one of its way that it has moved them
    }
    accuse(Blame::Kind::Misplaced, stage, &movement, stretch);
  }

  // With as much in front of the bytes as usual it would have put them where they should be: it is where it has read that they were not. So it
  // is for others that have read there, lest it has itself read at a wrong place.
  bool has_taken_from_wrong_place(std::size_t stage, const Hop& movement, std::uint64_t at, const Stretch& stretch) const {
    if (stage == 0 || movement.from.kind == Place::Kind::Stream || movement.to.kind != Place::Kind::Private || movement.to.number != journey_.delivery().to) return false;
    const std::set<std::uint64_t>& usual = taken_->usual[stage].headers;
    const std::uint64_t header = journey_.first_at(movement).value_or(0);
    if (usual.contains(header)) return false;
    if (std::none_of(usual.begin(), usual.end(), [&](std::uint64_t one) { return movement.to.address + at + one == stretch.to + header; })) return false;
    const std::uint32_t before = chain_[stage - 1];
    const auto others = index_.taken_from(before);
    return std::any_of(others.begin(), others.end(), [&](const JourneyIndex::Taken& one) {
      if (one.hop >= journey_.hops().size() || !is_of(one.hop, stage) || &journey_.hops()[one.hop] == &movement) return false;
      return placement_.displacement(one, before) == movement.to.address + at - stretch.to;
    });
  }

  // Was something that is beside it there taken on to where it belongs, or near that? Then this was to go on, too.
  bool is_taken_to_the_buffer(std::uint32_t hop) const {
    const auto taken = index_.taken_from(hop);
    return std::any_of(taken.begin(), taken.end(), [&](const JourneyIndex::Taken& one) {
      const auto distance = placement_.displacement(one, hop);
      return distance && (*distance < kNear || -*distance < kNear);
    });
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
    const auto is_near = [&](const Place& where) {
      const std::uint64_t distance = where.address > place.address ? where.address - place.address : place.address - where.address;
      return where.kind == place.kind && where.number == place.number && distance < kNear;
    };
    const Hop* stranger = nullptr;  // has written there, and does not do so on this way
    const bool is_taken_next = std::all_of(way().begin() + static_cast<std::ptrdiff_t>(stage), way().end(), [&](const Stage& one) { return one.rank == journey_.delivery().to; });
    bool was_read_after = way()[stage].kind == trace::IntentionRecord::Unpacked;  // which nobody sees
    for (std::size_t i = after(before); i < hops.size(); ++i) {
      const Hop& other = hops[i];
      // A movement that should read it there has read something else: it was overwritten before.
      const bool reads_it = is_of(i, stage) && covers(other.from, other.bytes, place);
      was_read_after = was_read_after || reads_it;
      // Its neighbours were taken on: it was left out, and the place may be used again.
      if (reads_it || (stage > 0 && is_of(i, stage) && is_near(other.from))) break;
      if (!covers(other.to, other.bytes, place)) continue;
      const bool is_strange = stage > 0 && place.kind == Place::Kind::Private && has_some(other.overwritten) && !has_some(other.labels) && !is_before(i, stage);
      if (is_strange && !is_for_another_use(i, stage, place)) stranger = &other;
      // Whatever place of the library it was, and whether or not such blocks are stored first: it has read where it should have written.
      const bool reads_target = is_taken_next && other.rank == way()[stage].rank && other.from.kind == Place::Kind::Private &&
                                other.from.number == journey_.delivery().to && other.from.address + (place.address - other.to.address) == stretch.to;
      if (reads_target && !is_taken_on(i, way().size() - 1, place)) return accuse(Blame::Kind::Reversed, stage, &other, stretch);
      if (!has_some(other.overwritten)) continue;
      // What it has read is not of the block: it was to be written. Otherwise the place was just used again, but for the send buffer.
      const bool is_reversed = is_of(i, stage) && (stage == 0 || (!has_some(other.labels) && !is_taken_on(i, stage, place)));
      if (is_reversed) return accuse(Blame::Kind::Reversed, stage, &other, stretch);
      if (stage > 0 && place.kind == Place::Kind::Shared && other.rank == way()[stage].rank && is_read_instead(other, i, place.address - other.to.address))
        return accuse(Blame::Kind::Reversed, stage, &other, stretch);
      if (stage > 0 && is_of(i, stage - 1)) {
        // And was read from there in its stead.
        const bool last = stage + 1 == way().size();
        const bool was_read = any_of(stage, i, [&](const Hop& later) {
          return covers(later.from, later.bytes, place) && (!last || later.to.address + (place.address - later.from.address) == stretch.to);
        });
        const bool has_come = last || has_come_by(other, landed_.last, stretch.to);
        if (was_read && has_come && !has_arrived(other, place.address - other.to.address))
          return accuse(Blame::Kind::Overwritten, stage - 1, &other, stretch);
      }
    }
    if (stranger && (was_read_after || stranger->labels.empty())) return accuse(Blame::Kind::Overwritten, stage - 1, stranger, stretch);
    // What is next to it in the block as well: the place may be used again for another part. If it is what such movements carry
    // otherwise, it is not too short; and what others get may be cut elsewhere.
    found_.borders = any_of(stage, after(before), [&](const Hop& other) {
      if (other.from.kind != place.kind || other.from.number != place.number || !has_some(other.labels)) return false;
      const std::uint64_t first = placement_.first_offset(other);
      const std::uint64_t last = placement_.last_offset(other);
      // Of what was left out at its end, only the last byte is looked at.
      const std::uint64_t gap = stretch.offset - last - 1;
      const bool before_it = last < stretch.offset && gap < kNear && other.from.address + other.bytes + gap == place.address;
      const bool behind_it = first > stretch.offset && first <= stretch.offset + stretch.bytes &&
                             other.from.address + journey_.first_at(other).value_or(0) == place.address + (first - stretch.offset);
      if ((!before_it && !behind_it) || known_.usually_carries(numbers_[stage], first, last)) return false;
      const auto number = static_cast<std::uint32_t>(&other - hops.data());
      const std::uint64_t carried = journey_.first_label(other)->label.address;
      return leads_on(stage, number, carried) && !is_for_others(stage, number, carried);
    });
    accuse(Blame::Kind::NotMoved, stage, nearest(stage, stretch), stretch);
    if (before != kNoHop) found_.blame.before = &hops[before];
  }

  // Who takes what a movement has put there?
  const Hop* taker_of(std::size_t number, const Place& place) const {
    const std::size_t behind = journey_.hops().size() - number - 1 + journey_.later_hops().size();
    return taken_next({journey_.hops().data() + number + 1, behind}, place);
  }

  // It is taken on from there, as this way goes on: that is what it was to do, in a place that is used again.
  bool is_taken_on(std::size_t number, std::size_t stage, const Place& place) const {
    const Hop* const taker = taker_of(number, place);
    return taker && (stage + 1 == way().size() || is_same(stage_of_hop(*taker), way()[stage + 1]));
  }

  // It is taken, but not as what was there before should have been.
  bool is_for_another_use(std::size_t number, std::size_t stage, const Place& place) const {
    const Hop* const taker = taker_of(number, place);
    return taker && !is_same(stage_of_hop(*taker), way()[stage]);
  }

  // Did somebody take on from where it has read, as if it had put the byte there?
  bool is_read_instead(const Hop& writer, std::size_t number, std::uint64_t at) const {
    if (has_some(writer.labels) || writer.from.kind != Place::Kind::Private) return false;
    Place there = writer.from;
    there.address += at;
    const auto later = journey_.hops().subspan(number + 1);
    return std::any_of(later.begin(), later.end(), [&](const Hop& hop) { return covers(hop.from, hop.bytes, there); });
  }

  // Is it of this stage, or of one before it?
  bool is_before(std::size_t hop, std::size_t stage) const {
    return std::find(numbers_.begin(), numbers_.begin() + static_cast<std::ptrdiff_t>(stage) + 1, index_.stage_of(hop)) !=
           numbers_.begin() + static_cast<std::ptrdiff_t>(stage) + 1;
  }

  bool has_some(const std::vector<Labelled>& labels) const {
    return std::any_of(labels.begin(), labels.end(), [&](const Labelled& one) { return journey_.is_of_giver(one.label.operation); });
  }

  // Does it hold for a movement of this stage, from this one on?
  template <class Holds>
  bool any_of(std::size_t stage, std::size_t first, Holds holds) const {
    const auto hops = journey_.hops();
    const auto& all = index_.hops_of(numbers_[stage]);
    return std::any_of(std::lower_bound(all.begin(), all.end(), first), all.end(), [&](std::uint32_t hop) { return holds(hops[hop]); });
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
    Blame& found = found_.blame;
    found.kind = kind;
    found.hop = stage + 1;
    found.stage = kind == Blame::Kind::Reversed ? stage_of_hop(*movement) : way()[stage];
    found.movement = movement;
    found.offset = stretch.offset;
    found.landed = landed_.last;
    found.is_guessed = found_.guessed;
    found.came_by.clear();
    for (std::size_t i = 0; i < std::min(stage, chain_.size()); ++i) found.came_by.push_back(&journey_.hops()[chain_[i]]);
    found_.goes_on = goes_on_after(kind, stage);
  }

  // Something is written to where the byte should have come, unless that is what went wrong.
  bool goes_on_after(Blame::Kind kind, std::size_t stage) const {
    if (stage + 1 < way().size()) return landed_.last != nullptr;
    return kind != Blame::Kind::NotMoved || !landed_.last || landed_.neighbours;
  }

  void look_where_it_should_be(const Stretch& stretch) {
    landed_ = {};
    const auto hops = journey_.hops();
    for (std::size_t i = journey_.first_hop(); i < hops.size(); ++i) {
      const Hop& hop = hops[i];
      if (hop.to.kind != Place::Kind::Private || hop.to.number != journey_.delivery().to) continue;
      if (stretch.to < hop.to.address || stretch.to - hop.to.address >= hop.bytes) continue;
      landed_.last = &hop;
      landed_.neighbours = landed_.neighbours || has_some(hop.labels);
    }
  }

  const Journey& journey_;
  const JourneyIndex index_;
  const Placement placement_;
  KnownWays known_;
  // The one that is supposed.
  KnownWay* taken_ = nullptr;
  std::vector<std::uint32_t> numbers_;  // of its stages
  std::vector<std::uint32_t> chain_;    // its movements, as far as the byte has gone
  struct {
    const Hop* last = nullptr;
    bool neighbours = false;  // something of the same block
  } landed_;  // where the byte should be
  Finding found_;
  Finding chosen_;
};

}  // namespace

bool is_explained_by(const Blame& one, const Blame& other) {
  if (other.kind == Blame::Kind::Unknown) return false;
  if (!other.is_guessed && other.movement && std::find(one.came_by.begin(), one.came_by.end(), other.movement) != one.came_by.end()) return true;
  if (one.kind == Blame::Kind::Misplaced)
    return one.is_at_the_end() && one.movement && other.landed == one.movement && other.movement != one.movement && !other.is_at_the_end();
  // What should have taken both on from there was seen to do something else.
  const bool was_seen = other.kind != Blame::Kind::NotMoved && other.movement && !other.is_guessed;
  if (one.kind == Blame::Kind::NotMoved && was_seen && one.stage.rank == other.stage.rank && !other.came_by.empty() && one.before == other.came_by.back()) return true;
  return one.kind == Blame::Kind::NotMoved && other.kind == Blame::Kind::NotMoved && one.before && one.before == other.before && !one.is_at_the_end() &&
         other.is_at_the_end() && !other.landed && !is_same(one.stage, other.stage);
}

Blame find_blame(const Journey& journey, const std::vector<const Journey*>& related) { return Detective(journey, related).blame(); }

}  // namespace reprise::flow
