#include "flow/known_ways.hpp"

#include <algorithm>

namespace reprise::flow {
namespace {

constexpr std::size_t kMostArrived = 4096;
constexpr std::size_t kMostWays = 8;       // that are joined
constexpr std::size_t kMostStages = 32;
constexpr std::size_t kMostKnown = 256;

bool is_early(const Journey& journey) { return journey.taker().order < journey.giver().order; }

bool is_collective(const Journey& journey) { return journey.taker().shape->form == trace::IntentionForm::Collective; }

bool are_same_calls(const Journey& one, const Journey& other) {
  return one.giver().shape == other.giver().shape && one.taker().shape == other.taker().shape && one.delivery().given == other.delivery().given &&
         one.delivery().taken == other.delivery().taken;
}

void add_part(Parts& parts, const Stretch& one) {
  if (!parts.empty() && parts.back().second == one.offset) parts.back().second += one.bytes;
  else parts.emplace_back(one.offset, one.offset + one.bytes);
}

bool are_same(const std::vector<Stage>& one, const std::vector<Stage>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), is_same);
}

}  // namespace

KnownWays::KnownWays(const Journey& journey, const JourneyIndex& index, const std::vector<const Journey*>& related) : journey_(journey), index_(index) {
  learn(journey, nullptr);
  // Whether a message had to wait for its receive decides how it goes. Of a collective nobody knows, and other ranks pass on what goes
  // from and to others.
  const bool has_routes = is_collective(journey);
  const auto is_between_them = [&](const Journey* other) {
    return other->delivery().from == journey.delivery().from && other->delivery().to == journey.delivery().to;
  };
  if (has_routes)
    for (const Journey* const other : related)
      if (is_between_them(other)) learn(*other, other);
  for (const bool same : {true, false})
    for (const Journey* const other : related)
      if ((is_early(*other) == is_early(journey)) == same && (has_routes ? known_.empty() : same || known_.empty())) learn(*other, other);
  learned_ = known_.size();
  learn_takers();
  join_ways();
}

void KnownWays::learn(const Journey& journey, const Journey* from) {
  std::map<std::uint32_t, Extent> extents;
  if (from) extents = extents_in(journey);
  const Takers takers = from ? takers_in(journey) : Takers();  // what went wrong may be taken by anybody
  const bool is_of_same_calls = from && is_collective(*from) && are_same_calls(*from, journey_);
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
    auto known = std::find_if(known_.begin(), known_.end(), [&](const KnownWay& way) { return are_same(way.stages, stages); });
    if (known == known_.end()) {
      known_.push_back({stages, std::vector<UsualPlaces>(stages.size()), from});
      known = std::prev(known_.end());
    }
    add_part(known->parts, one);
    if (is_of_same_calls) add_part(routes_[route_of(*known)], one);
    for (std::size_t i = 0; i < links.size(); ++i) {
      known->usual[i].add(journey, journey.hops()[links[i].hop]);
      if (i + 1 < links.size() && is_for_several(journey, takers, links[i], links[i + 1])) known->usual[i].for_several = true;
      if (const auto taken = takers.find(links[i].hop); taken != takers.end() && taken->second.times > 1) known->usual[i].taken_again = true;
      if (from) (i + 1 < links.size() ? extents_ : last_extents_)[index_.number_of(stages[i])].insert(extents[links[i].hop]);
    }
  }
}

KnownWays::Route KnownWays::route_of(const KnownWay& way) const {
  Route route = {journey_.delivery().from};
  const auto add = [&](std::uint32_t rank) {
    if (route.back() != rank) route.push_back(rank);
  };
  for (const Stage& stage : way.stages) add(stage.rank);
  add(journey_.delivery().to);
  return route;
}

bool KnownWays::may_go(const KnownWay& way, std::uint64_t offset) const {
  if (std::none_of(routes_.begin(), routes_.end(), [&](const auto& one) { return has_part(one.second, offset); })) return true;
  const auto found = routes_.find(route_of(way));
  return found != routes_.end() && has_part(found->second, offset);
}

// By movement.
std::map<std::uint32_t, KnownWays::Extent> KnownWays::extents_in(const Journey& journey) {
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

// Who takes something from where it was moved to, also when the block has long arrived. After the call of whoever has moved it there has
// returned, such places are used for other blocks, and what is left of this one there is moved again.
KnownWays::Takers KnownWays::takers_in(const Journey& journey) {
  Takers takers;
  std::size_t number = 0;
  for (const auto hops : {journey.hops(), journey.later_hops()})
    for (const Hop& hop : hops) {
      for (const Labelled& one : hop.labels) {
        if (one.label.hop == kNoHop || !journey.is_of_giver(one.label.operation)) continue;
        auto& [ranks, source, times] = takers[one.label.hop];
        if (ranks.empty()) source = one.label.address + one.bytes - 1;  // not the first one: what is short may have some of these behind it
        const bool is_passed_on = journey.is_passed_on_at(number, journey.hop(one.label.hop).rank);
        if (is_passed_on && one.label.address <= source && source - one.label.address < one.bytes) ++times;
        if (std::find(ranks.begin(), ranks.end(), hop.rank) == ranks.end()) ranks.push_back(hop.rank);
      }
      ++number;
    }
  return takers;
}

// A rank's own memory is for whoever reads it. What is shared is for the first one, unless another one gets it from there, too.
bool KnownWays::is_for_several(const Journey& journey, const Takers& takers, const Link& link, const Link& next) {
  const auto found = takers.find(link.hop);
  if (found == takers.end()) return false;
  if (journey.hops()[link.hop].to.kind == Place::Kind::Private) return found->second.ranks.size() > 1;
  return found->second.ranks.front() != journey.hops()[next.hop].rank;
}

// Nobody knows from this journey who else takes what is on its ways: others that go on in the same rank tell, or one of its own that
// others have gone, too.
void KnownWays::learn_takers() {
  for (KnownWay& own : known_) {
    for (std::size_t i = 0; !own.from && i + 1 < own.stages.size(); ++i)
      for (const KnownWay& other : known_)
        for (std::size_t k = 0; k + 1 < other.stages.size(); ++k) {
          if (!is_same(other.stages[k], own.stages[i]) || other.stages[k + 1].rank != own.stages[i + 1].rank) continue;
          own.usual[i].add_takers(other.usual[k]);
        }
  }
}

// Whole blocks and parts of blocks are often packed in different places of the same function, and unpacked, too: a way may
// begin or end as another one does.
void KnownWays::join_ways() {
  const std::size_t known = std::min(learned_, kMostWays);
  for (std::size_t i = 0; i < known; ++i) leave_out_storing(known_[i]);
  for (std::size_t i = 0; i < known; ++i)
    for (std::size_t k = 0; k < known; ++k) {
      join(known_[i], known_[k], true, false);
      join(known_[i], known_[k], false, true);
      join(known_[i], known_[k], true, true);
    }
}

// What comes in time is not stored by whoever takes it.
void KnownWays::leave_out_storing(const KnownWay& longer) {
  for (std::size_t at = 0; at + 1 < longer.stages.size(); ++at) {
    const Stage& stage = longer.stages[at];
    if (at == 0 || stage.rank != longer.stages[at + 1].rank || stage.kind != longer.stages[at + 1].kind || ends_a_way(stage)) continue;
    KnownWay way = longer;
    way.parts.clear();
    way.stages.erase(way.stages.begin() + static_cast<std::ptrdiff_t>(at));
    way.usual.erase(way.usual.begin() + static_cast<std::ptrdiff_t>(at));
    add(std::move(way));
  }
}

// Is this where ranks put what has come to them? What is passed on goes on from there.
bool KnownWays::ends_a_way(const Stage& stage) const {
  return std::any_of(known_.begin(), known_.begin() + static_cast<std::ptrdiff_t>(learned_), [&](const KnownWay& way) {
    return way.stages.back().kind == stage.kind && *way.stages.back().site == *stage.site;
  });
}

void KnownWays::join(const KnownWay& middle, const KnownWay& ends, bool first, bool last) {
  if (middle.stages.size() < 2 || ends.stages.empty()) return;
  KnownWay way = middle;
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
  add(std::move(way));
}

void KnownWays::continue_from(const Stretch& stretch) {
  std::vector<std::uint32_t> chain;
  go_on(stretch.from, chain);
}

// Depth first over everything that has carried this byte on.
void KnownWays::go_on(std::uint64_t source, std::vector<std::uint32_t>& chain) {
  if (chain.size() >= kMostStages || known_.size() >= kMostKnown) return;
  if (!chain.empty()) end_as_known(chain);
  const std::uint32_t before = chain.empty() ? kNoHop : chain.back();
  std::vector<std::uint32_t> next;
  for (std::uint32_t stage = 0; stage < index_.stages(); ++stage)
    index_.first(stage, source, [&](const JourneyIndex::Carried& one) {
      if (one.before == before && (before == kNoHop || one.hop > before)) next.push_back(one.hop);
      return false;  // all of them
    });
  for (const std::uint32_t hop : next) {
    chain.push_back(hop);
    go_on(source, chain);
    chain.pop_back();
  }
}

void KnownWays::end_as_known(const std::vector<std::uint32_t>& chain) {
  std::vector<Stage> begin;
  for (const std::uint32_t hop : chain) begin.push_back(stage_of_hop(journey_.hops()[hop]));
  const auto is_alike = [](const Stage& one, const Stage& other) { return one.kind == other.kind && one.rank == other.rank; };
  const bool found = end_as_known(begin, is_same, false);
  const Hop& last = journey_.hops()[chain.back()];
  // A part of it may be packed for another rank elsewhere in the library than the rest, and go on with that.
  if (last.to.kind != Place::Kind::Private) end_as_known(begin, is_alike, true);
  if (found) return;
  // Where a block was packed is known only roughly, if that was inferred.
  if (last.kind == trace::IntentionRecord::Packed || last.kind == trace::IntentionRecord::Unpacked) {
    end_as_known(begin, is_alike, false);
    return;
  }
  suppose_end(begin);
  const std::uint64_t taken_at = journey_.taker().taken_at(journey_.delivery().taken);
  if (!meets(journey_.taken(), taken_at, last.to, journey_.delivery().to, last.bytes)) return;
  // It has come to the buffer, by a place of the library that has brought no block there before.
  KnownWay way;
  way.stages = begin;
  for (std::size_t k = 0; k + 1 < begin.size(); ++k) way.usual.push_back(usual_before(begin[k], begin[k + 1]));
  way.usual.emplace_back();
  add(std::move(way));
}

template <class Matches>
bool KnownWays::end_as_known(const std::vector<Stage>& begin, Matches matches, bool own_only) {
  bool found = false;
  for (std::size_t number = 0; number < learned_; ++number) {
    const KnownWay& end = known_[number];
    if (own_only && end.from) continue;
    for (std::size_t i = 0; i < end.stages.size(); ++i) {
      if (!matches(end.stages[i], begin.back())) continue;
      if (own_only && (i + 1 == end.stages.size() || end.stages[i + 1].rank == end.stages[i].rank)) continue;
      found = true;
      KnownWay way;
      way.from = end.from;
      way.parts = end.parts;
      way.stages = begin;
      way.stages.insert(way.stages.end(), end.stages.begin() + static_cast<std::ptrdiff_t>(i) + 1, end.stages.end());
      if (is_known(way.stages)) continue;
      for (std::size_t k = 0; k + 1 < begin.size(); ++k) way.usual.push_back(usual_before(begin[k], begin[k + 1]));
      way.usual.insert(way.usual.end(), end.usual.begin() + static_cast<std::ptrdiff_t>(i), end.usual.end());
      add(std::move(way));
    }
  }
  return found;
}

// It was taken as usual by the rank that passes it on, but at another place of the library (as chance will have it, it was there before it was
// waited for). Whoever gets it from there does so all the same.
void KnownWays::suppose_end(const std::vector<Stage>& begin) {
  const std::size_t last = begin.size() - 1;
  if (last == 0) return;
  for (std::size_t number = 0; number < learned_; ++number) {
    const KnownWay& usual = known_[number];
    const auto& stages = usual.stages;
    if (stages.size() <= begin.size() || stages[last].kind != begin[last].kind || stages[last].rank != begin[last].rank) continue;
    if (stages[last + 1].rank == begin[last].rank || !std::equal(begin.begin(), begin.end() - 1, stages.begin(), is_same)) continue;
    KnownWay way = usual;
    way.parts.clear();
    way.is_supposed = true;
    way.stages[last] = begin[last];
    way.usual[last] = UsualPlaces();
    way.usual[last].add_takers(usual.usual[last]);
    add(std::move(way));
  }
}

// Of the same next stage, if there is one: what a library puts before the bytes depends on what is done with them next.
UsualPlaces KnownWays::usual_before(const Stage& stage, const Stage& next) const {
  const UsualPlaces* found = nullptr;
  for (std::size_t number = 0; number < learned_; ++number) {
    const KnownWay& way = known_[number];
    for (std::size_t i = 0; i < way.stages.size(); ++i) {
      if (!is_same(way.stages[i], stage)) continue;
      if (i + 1 < way.stages.size() && is_same(way.stages[i + 1], next)) return way.usual[i];
      if (!found) found = &way.usual[i];
    }
  }
  if (found) return *found;
  // No block has come there by this place of the library. How often one is taken on from there is up to what is done next.
  UsualPlaces usual;
  for (std::size_t number = 0; number < learned_; ++number) {
    const KnownWay& way = known_[number];
    for (std::size_t i = 0; i + 1 < way.stages.size(); ++i)
      if (way.stages[i].rank == stage.rank && is_same(way.stages[i + 1], next)) usual.add_takers(way.usual[i]);
  }
  return usual;
}

bool KnownWays::is_known(const std::vector<Stage>& stages) const {
  return std::any_of(known_.begin(), known_.end(), [&](const KnownWay& way) { return are_same(way.stages, stages); });
}

void KnownWays::add(KnownWay way) {
  way.is_joined = true;
  if (known_.size() < kMostKnown && !is_known(way.stages)) known_.push_back(std::move(way));
}

}  // namespace reprise::flow
