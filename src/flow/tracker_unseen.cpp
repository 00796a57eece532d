// What the library moves by loads and stores, which nobody sees: known from the callbacks that did it, or from the bytes.
#include <algorithm>

#include "flow/tracker.hpp"
#include "flow/units.hpp"

namespace reprise::flow {

using trace::IntentionRecord;

namespace {

const std::string kUnseenSite = "||";  // no place in any module

}  // namespace

// Have all bytes labels of the same operation already? Then copies were seen.
bool Tracker::is_seen_moved(std::uint32_t rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const {
  target_.clear();
  find_labels(rank, to, bytes, target_);
  if (target_.empty()) return false;
  source_.clear();
  find_labels(rank, from, bytes, source_);
  if (source_.empty()) return false;
  std::uint64_t labelled = 0;
  for (const Labelled& one : target_) {
    if (one.label.operation != source_[0].label.operation) return false;
    labelled += one.bytes;
  }
  return labelled == bytes;
}

// Have some bytes the labels of those that they should be copies of?
bool Tracker::is_partly_moved(std::uint32_t rank, std::uint64_t from, std::uint64_t to, std::uint64_t bytes) const {
  target_.clear();
  find_labels(rank, to, bytes, target_);
  source_.clear();
  find_labels(rank, from, bytes, source_);
  return std::any_of(target_.begin(), target_.end(), [&](const Labelled& one) {
    return std::any_of(source_.begin(), source_.end(), [&](const Labelled& other) {
      const bool overlaps = one.at < other.at + other.bytes && other.at < one.at + one.bytes;
      return overlaps && one.label.operation == other.label.operation && one.label.address - one.at == other.label.address - other.at;
    });
  });
}

// Of operations that were under way at that time, or later, or of messages that had not been received: no leftovers.
bool Tracker::has_labels_since(std::uint32_t rank, std::uint64_t at, std::uint64_t bytes, std::uint64_t since) const {
  target_.clear();
  find_labels(rank, at, bytes, target_);
  return std::any_of(target_.begin(), target_.end(), [&](const Labelled& one) {
    if (!is_known(one.label.operation)) return false;
    const TrackedOperation& giver = operation(one.label.operation);
    return giver.ended >= since || (giver.shape->form != trace::IntentionForm::Collective && !giver.received);
  });
}

// Is something in a block of its rank that came from this operation?
bool Tracker::has_some_of(std::uint32_t which, const LoggedBlock& block, std::uint64_t address) const {
  const auto bounds = block.bounds();
  target_.clear();
  find_labels(operation(which).rank, address + static_cast<std::uint64_t>(bounds.begin), static_cast<std::uint64_t>(bounds.end - bounds.begin), target_);
  return std::any_of(target_.begin(), target_.end(), [&](const Labelled& one) { return are_aliases(one.label.operation, which); });
}

// A block that a rank gives to itself, and passes on from where it takes it: libraries copy it by loads and stores.
void Tracker::keep_own(std::uint32_t which, std::size_t number) {
  const TrackedOperation& one = operation(which);
  const LoggedBlock& block = one.shape->takes[number];
  if (one.shape->group->inter() || block.peer != one.shape->group->me || !kept_own_.emplace(which, number).second) return;
  const auto given = given_block(*one.shape, *one.shape, number);
  if (!given || one.shape->gives[*given].bytes() == 0) return;
  const LoggedBlock& from = one.shape->gives[*given];
  if (has_some_of(which, block, one.taken_at(number))) return;  // copies were seen: what they have left out was not moved
  Hop& hop = new_hop(one.rank, IntentionRecord::Copied, &kUnseenSite);
  hop.inferred = true;
  each_unit(from, block, block.bytes(), [&](const Unit& unit) {
    const std::uint64_t source = one.given_at(*given) + static_cast<std::uint64_t>(unit.from - from.place);
    const std::uint64_t target = one.taken_at(number) + static_cast<std::uint64_t>(unit.to - block.place);
    transfer(hop, pieces(one.rank, source, unit.size), pieces(one.rank, target, unit.size));
  });
}

// What the callback should have done, and has done as far as its bytes say: unit by unit.
void Tracker::by_callback(std::uint32_t rank, const Event& event) {
  ++movements_;
  const Movement& moved = event.movement;
  const bool packs = event.kind == IntentionRecord::Packed;
  const auto found = ranks_[rank].open.find(moved.post);
  if (found == ranks_[rank].open.end() || !is_known(found->second)) return;
  const TrackedOperation& one = operation(found->second);
  const auto& blocks = moved.takes ? one.shape->takes : one.shape->gives;
  if (moved.block >= blocks.size() || blocks[moved.block].bytes() == 0) return;
  const LoggedBlock& block = blocks[moved.block];
  const std::uint64_t base = moved.takes ? one.taken_at(moved.block) : one.given_at(moved.block);
  if (packs && moved.takes) keep_own(found->second, moved.block);
  // Some of a unit: where it begins in what is moved, from where, to where, how many bytes.
  const auto each_moved = [&](auto visit) {
    each_unit(block, block, std::min(block.bytes(), moved.offset + moved.bytes), [&](const Unit& unit) {
      const std::uint64_t begin = std::max(unit.begins, moved.offset);
      const std::uint64_t end = std::min(unit.begins + unit.size, moved.offset + moved.bytes);
      if (begin >= end) return;
      const std::uint64_t in_memory = base + static_cast<std::uint64_t>(unit.from - block.place) + (begin - unit.begins);
      const std::uint64_t packed = moved.to + (begin - moved.offset);
      visit(begin - moved.offset, packs ? in_memory : packed, packs ? packed : in_memory, end - begin);
    }, moved.offset);
  };
  bool copies_are_seen = false;
  if (moved.wrong > 0)
    each_moved([&](std::uint64_t, std::uint64_t source, std::uint64_t target, std::uint64_t bytes) {
      copies_are_seen = copies_are_seen || is_partly_moved(rank, source, target, bytes);
    });
  Hop& hop = new_hop(rank, event.kind, moved.site);
  each_moved([&](std::uint64_t at, std::uint64_t source_at, std::uint64_t target_at, std::uint64_t bytes) {
    const bool is_wrong = moved.wrong > 0 && moved.wrong - 1 >= at && moved.wrong - 1 < at + bytes;
    // Copies that were seen tell more. And a datatype of the library's own may have other blocks than the program's.
    if (is_wrong ? copies_are_seen || has_labels_since(rank, target_at, bytes, one.begun) : is_seen_moved(rank, source_at, target_at, bytes)) return;
    hop.wrong = is_wrong ? moved.wrong : 0;
    const auto source = pieces(rank, source_at, bytes);
    const auto target = pieces(rank, target_at, bytes);
    if (is_wrong && watcher_) {
      hop.bytes = bytes;
      hop.from = source[0].place;
      hop.to = target[0].place;
      hop.labels.clear();
      labels(hop.from).find(hop.from.address, hop.bytes, hop.labels, 0);
      watcher_->moved(hop);
    }
    transfer(hop, is_wrong ? Pieces() : source, target);  // a block that is not what it should be comes from nowhere
  });
}

// The block lies packed at `held.address`, from some time after the operation began.
void Tracker::was_packed(std::uint32_t rank, const TrackedOperation& giver, const HeldBlock& held) {
  if (held.block >= giver.shape->gives.size() || giver.shape->gives[held.block].bytes() == 0) return;
  const LoggedBlock& block = giver.shape->gives[held.block];
  const std::uint64_t base = giver.given_at(held.block);
  Hop& hop = new_hop(rank, IntentionRecord::Packed, held.site);
  hop.inferred = true;
  each_unit(block, block, block.bytes(), [&](const Unit& unit) {
    transfer(hop, pieces(rank, base + static_cast<std::uint64_t>(unit.from - block.place), unit.size), pieces(rank, held.address + unit.begins, unit.size));
  });
}

void Tracker::by_value(std::uint32_t rank, const Event& event) {
  ++movements_;
  const Movement& moved = event.movement;
  const auto found = ranks_[rank].open.find(moved.post);
  if (found == ranks_[rank].open.end() || !is_known(found->second)) return;
  const TrackedOperation& one = operation(found->second);
  if (!moved.takes) {
    found_held_[{rank, moved.post}].push_back({moved.block, moved.from, moved.site});
    return;
  }
  if (moved.block >= one.shape->takes.size() || one.shape->takes[moved.block].bytes() == 0) return;
  const LoggedBlock& block = one.shape->takes[moved.block];
  const std::uint64_t base = one.taken_at(moved.block);
  Hop& hop = new_hop(rank, IntentionRecord::Unpacked, moved.site);
  hop.inferred = true;
  each_unit(block, block, block.bytes(), [&](const Unit& unit) {
    const std::uint64_t from = moved.from + unit.begins;
    const std::uint64_t to = base + static_cast<std::uint64_t>(unit.from - block.place);
    // Only what is known to have come there.
    if (!labels_at(rank, from, unit.size).empty() && !is_seen_moved(rank, from, to, unit.size)) transfer(hop, pieces(rank, from, unit.size), pieces(rank, to, unit.size));
  });
}

}  // namespace reprise::flow
