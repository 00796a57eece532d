#include "flow/placement.hpp"

#include <algorithm>

namespace reprise::flow {
namespace {

constexpr std::size_t kMostCompared = 4096;
constexpr std::uint64_t kSlot = 16;  // libraries put bytes to places that are the same in this: what malloc aligns to

std::uint64_t between(std::uint64_t one, std::uint64_t other) { return one > other ? one - other : other - one; }

std::uint64_t slot_of(const Journey& journey, const Hop& movement) {
  return (movement.to.address + journey.first_at(movement).value_or(0)) % kSlot;
}

// What is read from a stream: how far behind the bytes that were read before. None: before them, or nobody knows.
std::optional<std::uint64_t> gap_before(const Hop& movement, const Labelled& first) {
  if (first.at > 0) return 0;
  if (!movement.behind || movement.to.kind != Place::Kind::Private || movement.to.address < *movement.behind) return std::nullopt;
  return movement.to.address - *movement.behind;
}

}  // namespace

void UsualPlaces::add(const Journey& journey, const Hop& movement) {
  slots.insert(slot_of(journey, movement));
  headers.insert(journey.first_at(movement).value_or(0));
  const Labelled* const first = journey.first_label(movement);
  if (!first || movement.from.kind != Place::Kind::Stream) return;
  if (const auto gap = gap_before(movement, *first)) gaps.insert(*gap);
}

Placed Placement::look_at(const Hop& movement, const SupposedStage& stage, const Stretch& stretch) const {
  if (movement.to.kind == Place::Kind::Stream) return Placed::Right;
  if (movement.from.kind == Place::Kind::Stream) return look_at_read(movement, stage);
  const auto carried = std::find_if(movement.labels.begin(), movement.labels.end(), [&](const Labelled& one) {
    return stretch.from >= one.label.address && stretch.from - one.label.address < one.bytes && journey_.is_of_giver(one.label.operation);
  });
  if (carried == movement.labels.end()) return Placed::Right;
  const std::uint64_t target = movement.to.address + carried->at + (stretch.from - carried->label.address);
  // Neighbours that arrived are to be trusted; others may have gone wrong with it.
  const std::uint64_t first = first_offset(movement);
  bool close = false;  // a neighbour is not far, but not where it would go on
  bool continues_wrong = false;
  const auto compare = [&](std::uint64_t offset) {
    const auto other = address_at(stage.number, offset, &movement);
    if (!other && arrived(offset) && is_beside(movement, stage, target, offset - stretch.offset, offset)) return true;
    if (!other || other->kind != movement.to.kind || other->number != movement.to.number) return false;
    const std::uint64_t distance = between(other->address, target + (offset - stretch.offset));
    if (!arrived(offset)) {
      continues_wrong = continues_wrong || distance == 0;
      return false;
    }
    close = close || (distance > 0 && distance < kNear);
    return distance == 0;
  };
  if (first > 0 && compare(first - 1)) return Placed::Right;
  std::size_t tried = 0;
  const std::uint64_t behind = last_offset(movement) + 1;
  for (const Stretch& one : journey_.stretches()) {
    const std::uint64_t offset = std::max(one.offset, behind);
    if (one.offset + one.bytes <= offset) continue;
    if (tried++ == 4) break;
    if (compare(offset)) return Placed::Right;
  }
  if (close && usually_continues(stage)) return Placed::Wrong;
  // Of the same way only: what the library puts before the bytes depends on what is done with them next.
  const bool fits = stage.usual->slots.empty() || stage.usual->slots.contains(slot_of(journey_, movement));
  return !fits && (close || !continues_wrong) ? Placed::Unusual : Placed::Right;
}

// How much is read at once is left to chance: bytes may be anywhere, but behind those that were before them in the stream.
Placed Placement::look_at_read(const Hop& movement, const SupposedStage& stage) const {
  const Labelled* const first = journey_.first_label(movement);
  if (!first) return Placed::Right;
  if (const auto placed = beside_what_was_read_before(movement, *first, stage)) return *placed;
  const auto gap = gap_before(movement, *first);
  if (gap && *gap < kNear) return *gap == 0 || stage.usual->gaps.contains(*gap) ? Placed::Right : Placed::Unusual;
  return stage.usual->slots.empty() || stage.usual->slots.contains(slot_of(journey_, movement)) ? Placed::Right : Placed::Unusual;
}

// The byte before the first one in the stream may be one of the block. Then they are next to each other, where they were read to or
// where the first one was copied to since. None: it is not.
std::optional<Placed> Placement::beside_what_was_read_before(const Hop& movement, const Labelled& first, const SupposedStage& stage) const {
  const std::uint64_t offset = offset_of(first.label.address);
  const Stretch* const before = offset > 0 && offset != UINT64_MAX ? stretch_at(offset - 1) : nullptr;
  if (!before) return std::nullopt;
  const std::uint64_t source = before->from + (offset - 1 - before->offset);
  bool is_of_stream = false;
  bool adjacent = false;
  bool close = false;
  const std::uint64_t target = movement.to.address + first.at;
  const auto look_at = [&](const JourneyIndex::Carried& one) {
    const Hop& hop = journey_.hops()[one.hop];
    if (&hop == &movement || hop.to.kind != movement.to.kind || hop.to.number != movement.to.number || hop.rank != stage.what->rank) return false;
    const std::uint64_t behind = one.at + (source - one.source) + 1;
    adjacent = adjacent || hop.to.address + behind == target;
    close = close || between(hop.to.address + behind, target) < kNear;
    is_of_stream = is_of_stream || (hop.from.kind == movement.from.kind && hop.from.number == movement.from.number &&
                                    hop.from.address + behind == movement.from.address + first.at);
    return false;  // all of them
  };
  for (std::uint32_t number = 0; number < index_.stages() && !adjacent; ++number) index_.first(number, source, look_at);
  if (adjacent) return Placed::Right;
  if (!is_of_stream) return std::nullopt;
  if (!before->arrived) return Placed::Right;
  return close ? Placed::Wrong : Placed::Unusual;
}

std::optional<std::uint64_t> Placement::displacement(const JourneyIndex::Taken& taken, std::uint32_t from) const {
  if (taken.hop >= journey_.hops().size()) return std::nullopt;
  const Hop& taker = journey_.hops()[taken.hop];
  const Stretch* const stretch = index_.stretch_with(taken.source);
  const auto at = journey_.carries(taker, taken.source, from);
  if (!stretch || !at || taker.to.kind != Place::Kind::Private || taker.to.number != journey_.delivery().to) return std::nullopt;
  return taker.to.address + *at - (stretch->to + (taken.source - stretch->from));
}

bool Placement::usually_continues(const SupposedStage& stage) const {
  auto& known = stage.usual->continues;
  if (!known) known = count_continuing(stage);
  return *known;
}

bool Placement::count_continuing(const SupposedStage& stage) const {
  std::size_t yes = 0;
  std::size_t no = 0;
  const Stretch* before = nullptr;
  std::uint32_t carrier = kNoHop;
  Place place;
  for (const Stretch& one : journey_.stretches()) {
    if (yes + no >= kMostCompared) break;
    const auto links = one.arrived ? journey_.way(one.hop, one.from) : std::vector<Link>();
    if (links.size() != stage.of || index_.stage_of(links[stage.stage].hop) != stage.number) {
      before = nullptr;
      continue;
    }
    const Link& link = links[stage.stage];
    Place here = journey_.hops()[link.hop].to;
    here.address += link.at;
    const bool follows = before && link.hop != carrier && before->offset + before->bytes == one.offset;
    if (follows) (here.address == place.address + before->bytes ? yes : no) += 1;
    before = &one;
    carrier = link.hop;
    place = here;
  }
  return yes > 10 * no;
}

// Has another place of the library put the byte with this offset so far from it, as parts of blocks are?
bool Placement::is_beside(const Hop& movement, const SupposedStage& stage, std::uint64_t target, std::uint64_t distance, std::uint64_t offset) const {
  for (const std::uint32_t number : index_.stages_like(*stage.what)) {
    const auto other = address_at(number, offset, &movement);
    if (other && other->kind == movement.to.kind && other->number == movement.to.number && other->address == target + distance) return true;
  }
  return false;
}

// Where this stage has put the byte with this offset, by another movement.
std::optional<Place> Placement::address_at(std::uint32_t number, std::uint64_t offset, const Hop* but) const {
  const Stretch* const stretch = stretch_at(offset);
  if (!stretch) return std::nullopt;
  const std::uint64_t source = stretch->from + (offset - stretch->offset);
  const auto* const found = index_.first(number, source, [&](const JourneyIndex::Carried& one) { return &journey_.hops()[one.hop] != but; });
  if (!found) return std::nullopt;
  Place place = journey_.hops()[found->hop].to;
  place.address += found->at + (source - found->source);
  return place;
}

const Stretch* Placement::stretch_at(std::uint64_t offset) const {
  const auto& all = journey_.stretches();
  const auto behind = std::upper_bound(all.begin(), all.end(), offset, [](std::uint64_t at, const Stretch& one) { return at < one.offset; });
  if (behind == all.begin() || offset - std::prev(behind)->offset >= std::prev(behind)->bytes) return nullptr;
  return &*std::prev(behind);
}

bool Placement::arrived(std::uint64_t offset) const {
  const Stretch* const stretch = stretch_at(offset);
  return stretch && stretch->arrived;
}

std::uint64_t Placement::offset_of(std::uint64_t source) const {
  const Stretch* const found = index_.stretch_with(source);
  return found ? found->offset + (source - found->from) : UINT64_MAX;
}

std::uint64_t Placement::first_offset(const Hop& hop) const {
  std::uint64_t first = UINT64_MAX;
  for (const Labelled& one : hop.labels)
    if (journey_.is_of_giver(one.label.operation)) first = std::min(first, offset_of(one.label.address));
  return first == UINT64_MAX ? 0 : first;
}

std::uint64_t Placement::last_offset(const Hop& hop) const {
  std::uint64_t last = 0;
  for (const Labelled& one : hop.labels) {
    if (!journey_.is_of_giver(one.label.operation)) continue;
    const std::uint64_t end = offset_of(one.label.address + one.bytes - 1);
    if (end != UINT64_MAX) last = std::max(last, end);
  }
  return last;
}

}  // namespace reprise::flow
