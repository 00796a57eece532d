#include "flow/blame.hpp"

#include <algorithm>

namespace reprise::flow {
namespace {

constexpr std::size_t kMostWrong = 64;  // stretches that are looked at
constexpr std::uint64_t kSlot = 64;     // where libraries put bytes is regular in this: a line of the cache

Stage stage_of(const Hop& hop) { return {hop.rank, hop.kind, hop.site}; }
bool is_same(const Stage& one, const Stage& other) {
  return one.rank == other.rank && one.kind == other.kind && (one.site == other.site || *one.site == *other.site);
}

// Finds out what the way of bytes that arrived was, and follows those that did not as far as they went.
class Detective {
 public:
  Detective(const Journey& journey, const Journey* related) : journey_(journey), related_(related) {}

  Blame blame() {
    if (!know_way()) return {};
    std::size_t looked_at = 0;
    for (const Stretch& one : journey_.stretches())
      if (!one.arrived && looked_at++ < kMostWrong) follow(one);
    found_.of = way_.size();
    found_.way = way_;
    found_.by_related = by_related_;
    if (!by_related_)
      for (const Stretch& one : journey_.stretches()) found_.arrived += one.arrived ? one.bytes : 0;
    return found_;
  }

 private:
  // Of the bytes next to the first wrong ones, if some of this block arrived.
  bool know_way() {
    const auto& all = journey_.stretches();
    const auto wrong = std::find_if(all.begin(), all.end(), [](const Stretch& one) { return !one.arrived; });
    const auto use = [&](const Journey& journey, const Stretch& stretch) {
      if (!stretch.arrived) return false;
      const auto links = journey.way(stretch.hop, stretch.from);
      way_.clear();
      for (const Link& link : links) way_.push_back(stage_of(journey.hops()[link.hop]));
      return !way_.empty();
    };
    for (auto one = wrong; one != all.begin();)
      if (use(journey_, *--one)) return true;
    for (auto one = wrong; one != all.end(); ++one)
      if (use(journey_, *one)) return true;
    if (!related_) return false;
    by_related_ = true;
    for (const Stretch& one : related_->stretches()) {
      if (!use(*related_, one)) continue;
      for (Stage& stage : way_) {
        if (stage.rank == related_->delivery().from) stage.rank = journey_.delivery().from;
        else if (stage.rank == related_->delivery().to) stage.rank = journey_.delivery().to;
      }
      return true;
    }
    return false;
  }

  // The movement at this stage that carries the byte on from where `before` has put it.
  std::optional<std::uint32_t> next(std::size_t stage, std::uint64_t source, std::uint32_t before) const {
    const auto& hops = journey_.hops();
    for (std::size_t i = before == kNoHop ? 0 : before + 1; i < hops.size(); ++i)
      if (is_same(stage_of(hops[i]), way_[stage]) && journey_.carries(hops[i], source, before)) return static_cast<std::uint32_t>(i);
    return std::nullopt;
  }

  void follow(const Stretch& stretch) {
    std::uint32_t before = kNoHop;
    for (std::size_t stage = 0; stage < way_.size(); ++stage) {
      const auto hop = next(stage, stretch.from, before);
      if (!hop) return stops_before(stage, stretch, before);
      const Hop& movement = journey_.hops()[*hop];
      if (movement.wrong) return accuse(Blame::Kind::Packing, stage, &movement, stretch);
      const bool last = stage + 1 == way_.size();
      if (!last && !is_regular(movement, stage, stretch)) return accuse(Blame::Kind::Misplaced, stage, &movement, stretch);
      before = *hop;
    }
    arrived_elsewhere(stretch, before);
  }

  // The last movement has carried it. To the right place? Then somebody has written there since.
  void arrived_elsewhere(const Stretch& stretch, std::uint32_t last) {
    const auto& hops = journey_.hops();
    const Hop& movement = hops[last];
    const auto at = journey_.carries(movement, stretch.from, before_of(movement, stretch.from));
    if (at && movement.to.kind == Place::Kind::Private && movement.to.address + *at == stretch.to) {
      for (std::size_t i = hops.size(); i-- > last + 1;) {
        const Hop& other = hops[i];
        const bool over = other.to.kind == movement.to.kind && other.to.number == movement.to.number && other.to.address <= stretch.to &&
                          stretch.to < other.to.address + other.bytes;
        if (over) return accuse(Blame::Kind::Overwritten, way_.size() - 1, &other, stretch);
      }
    }
    accuse(Blame::Kind::Misplaced, way_.size() - 1, &movement, stretch);
  }

  std::uint32_t before_of(const Hop& hop, std::uint64_t source) const {
    for (const Labelled& one : hop.labels)
      if (source >= one.label.address && source - one.label.address < one.bytes && journey_.is_of_giver(one.label.operation)) return one.label.hop;
    return kNoHop;
  }

  // Nobody has carried it on. Why?
  void stops_before(std::size_t stage, const Stretch& stretch, std::uint32_t before) {
    const auto& hops = journey_.hops();
    Place place{Place::Kind::Private, journey_.delivery().from, stretch.from};
    if (before != kNoHop) {
      place = hops[before].to;
      if (const auto at = journey_.carries(hops[before], stretch.from, before_of(hops[before], stretch.from))) place.address += *at;
    }
    const auto covers = [&](const Place& where, std::uint64_t bytes) {
      return where.kind == place.kind && where.number == place.number && where.address <= place.address && place.address < where.address + bytes;
    };
    for (std::size_t i = before == kNoHop ? 0 : before + 1; i < hops.size(); ++i) {
      const Hop& other = hops[i];
      // A movement that should read it there has read something else: it was overwritten before.
      if (is_same(stage_of(other), way_[stage]) && covers(other.from, other.bytes)) break;
      if (!covers(other.to, other.bytes)) continue;
      const bool its = std::any_of(other.overwritten.begin(), other.overwritten.end(), [&](const Labelled& one) { return journey_.is_of_giver(one.label.operation); });
      if (!its) continue;
      if (is_same(stage_of(other), way_[stage])) return accuse(Blame::Kind::Reversed, stage, &other, stretch);
      if (stage > 0 && is_same(stage_of(other), way_[stage - 1])) {
        const bool was_read = std::any_of(hops.begin() + static_cast<std::ptrdiff_t>(i), hops.end(), [&](const Hop& later) {
          return is_same(stage_of(later), way_[stage]) && covers(later.from, later.bytes);
        });
        if (was_read) return accuse(Blame::Kind::Overwritten, stage - 1, &other, stretch);
      }
    }
    accuse(Blame::Kind::NotMoved, stage, nearest(stage, stretch), stretch);
  }

  // What was moved at this stage next to it: a copy that is too short, or that began too late.
  const Hop* nearest(std::size_t stage, const Stretch& stretch) const {
    const Hop* found = nullptr;
    std::uint64_t best = UINT64_MAX;
    for (const Hop& hop : journey_.hops()) {
      if (!is_same(stage_of(hop), way_[stage])) continue;
      for (const Labelled& one : hop.labels) {
        if (!journey_.is_of_giver(one.label.operation)) continue;
        const std::uint64_t end = one.label.address + one.bytes;
        const std::uint64_t distance = stretch.from >= end ? stretch.from - end : one.label.address >= stretch.from ? one.label.address - stretch.from : 0;
        if (distance < best) best = distance, found = &hop;
      }
    }
    return found;
  }

  // Does it lie where its neighbours say; or, if it has none, where such movements put bytes that arrive?
  bool is_regular(const Hop& movement, std::size_t stage, const Stretch& stretch) const {
    if (movement.to.kind == Place::Kind::Stream) return true;
    const auto at = journey_.carries(movement, stretch.from, before_of(movement, stretch.from));
    if (!at) return true;
    const std::uint64_t target = movement.to.address + *at;
    int continues = 0;
    int breaks = 0;
    const auto compare = [&](std::uint64_t offset, std::int64_t distance) {
      const auto other = address_at(stage, offset, &movement);
      if (!other) return;
      (other->kind == movement.to.kind && other->number == movement.to.number && other->address + static_cast<std::uint64_t>(distance) == target ? continues : breaks) += 1;
    };
    if (const std::uint64_t first = first_offset(movement); first > 0) compare(first - 1, static_cast<std::int64_t>(stretch.offset - first + 1));
    compare(last_offset(movement) + 1, -static_cast<std::int64_t>(last_offset(movement) + 1 - stretch.offset));
    if (continues > 0) return true;
    if (breaks > 1) return false;
    return fits_slot(movement, stage);
  }

  std::uint64_t offset_of(std::uint64_t source) const {
    for (const Stretch& one : journey_.stretches())
      if (source >= one.from && source - one.from < one.bytes) return one.offset + (source - one.from);
    return UINT64_MAX;
  }
  std::uint64_t first_offset(const Hop& hop) const {
    std::uint64_t first = UINT64_MAX;
    for (const Labelled& one : hop.labels)
      if (journey_.is_of_giver(one.label.operation)) first = std::min(first, offset_of(one.label.address));
    return first == UINT64_MAX ? 0 : first;
  }
  std::uint64_t last_offset(const Hop& hop) const {
    std::uint64_t last = 0;
    for (const Labelled& one : hop.labels) {
      if (!journey_.is_of_giver(one.label.operation)) continue;
      const std::uint64_t end = offset_of(one.label.address + one.bytes - 1);
      if (end != UINT64_MAX) last = std::max(last, end);
    }
    return last;
  }

  // Where this stage has put the byte with this offset, by another movement.
  std::optional<Place> address_at(std::size_t stage, std::uint64_t offset, const Hop* but) const {
    const auto stretch = std::find_if(journey_.stretches().begin(), journey_.stretches().end(), [&](const Stretch& one) { return offset >= one.offset && offset - one.offset < one.bytes; });
    if (stretch == journey_.stretches().end()) return std::nullopt;
    const std::uint64_t source = stretch->from + (offset - stretch->offset);
    for (const Hop& hop : journey_.hops()) {
      if (&hop == but || !is_same(stage_of(hop), way_[stage])) continue;
      for (const Labelled& one : hop.labels) {
        if (!journey_.is_of_giver(one.label.operation) || source < one.label.address || source - one.label.address >= one.bytes) continue;
        Place place = hop.to;
        place.address += one.at + (source - one.label.address);
        return place;
      }
    }
    return std::nullopt;
  }

  bool fits_slot(const Hop& movement, std::size_t stage) const {
    bool any = false;
    for (const Journey* const journey : {&journey_, related_}) {
      if (!journey) continue;
      for (const Stretch& one : journey->stretches()) {
        if (!one.arrived) continue;
        const auto links = journey->way(one.hop, one.from);
        if (links.size() != way_.size()) continue;
        const Hop& other = journey->hops()[links[stage].hop];
        if (&other == &movement || other.kind != movement.kind || *other.site != *movement.site) continue;
        any = true;
        if (other.to.address % kSlot == movement.to.address % kSlot) return true;
      }
    }
    return !any;
  }

  // The earliest one counts: what comes later only carries on what it was given.
  void accuse(Blame::Kind kind, std::size_t stage, const Hop* movement, const Stretch& stretch) {
    if (found_.hop != 0 && found_.hop <= stage + 1) return;
    found_.kind = kind;
    found_.hop = stage + 1;
    found_.stage = way_[stage];
    found_.movement = movement;
    found_.offset = stretch.offset;
  }

  const Journey& journey_;
  const Journey* related_;
  std::vector<Stage> way_;
  bool by_related_ = false;
  Blame found_;
};

}  // namespace

Blame find_blame(const Journey& journey, const Journey* related) { return Detective(journey, related).blame(); }

std::vector<Way> ways_of(const Journey& journey) {
  std::vector<Way> all;
  std::vector<std::vector<std::set<std::uint32_t>>> seen;
  for (const Stretch& one : journey.stretches()) {
    if (!one.arrived) continue;
    const auto links = journey.way(one.hop, one.from);
    const auto found = std::find_if(all.begin(), all.end(), [&](const Way& way) {
      return std::equal(way.stages.begin(), way.stages.end(), links.begin(), links.end(),
                        [&](const Stage& stage, const Link& link) { return is_same(stage, stage_of(journey.hops()[link.hop])); });
    });
    const auto at = static_cast<std::size_t>(found - all.begin());
    if (found == all.end()) {
      Way& way = all.emplace_back();
      for (const Link& link : links) {
        way.stages.push_back(stage_of(journey.hops()[link.hop]));
        way.examples.push_back(&journey.hops()[link.hop]);
      }
      seen.emplace_back(links.size());
    }
    all[at].bytes += one.bytes;
    for (std::size_t i = 0; i < links.size(); ++i) seen[at][i].insert(links[i].hop);
  }
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const auto& hops : seen[i]) all[i].movements.push_back(hops.size());
  return all;
}

}  // namespace reprise::flow
