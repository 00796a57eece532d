#include "engine/seen_memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace reprise::engine {
namespace {

void put(std::vector<std::uint8_t>& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::uint8_t>(value | 0x80));
  out.push_back(static_cast<std::uint8_t>(value));
}

}  // namespace

void SeenMemory::add_region(void* base, std::uint64_t size) {
  regions_[next_region_++] = {static_cast<std::uint8_t*>(base), size};
}

void SeenMemory::remove_region(const void* base) {
  std::erase_if(regions_, [&](const auto& one) { return one.second.base == base; });
}

void SeenMemory::listen(std::unique_ptr<Touches> touches, bool all_tell) {
  touches_ = std::move(touches);
  all_tell_ = all_tell && touches_;
}

bool SeenMemory::hear() {
  if (!touches_) return false;
  const std::size_t before = open_.size();
  Touch touch;
  while (touches_->take(touch)) {
    if (touch.size > 0) {
      open_.push_back({touch});
      continue;
    }
    for (Open& one : open_)
      if (one.touch.origin == touch.origin && one.touch.number <= touch.number) one.is_complete = true;
  }
  everything_ |= touches_->take_lost();
  return open_.size() > before;
}

void SeenMemory::place(const Touch& touch, std::vector<Place>& out) const {
  for (const auto& [number, region] : regions_) {
    const std::uint64_t base = by_address_ ? reinterpret_cast<std::uint64_t>(region.base) : 0;
    const std::uint64_t begin = std::max(touch.begin, base);
    const std::uint64_t end = std::min(touch.begin + touch.size, base + region.size);
    if (begin < end) out.push_back({number, begin - base, end - base});
  }
}

// What may have changed since the last look, in order and without overlaps.
std::vector<SeenMemory::Place> SeenMemory::touched() {
  std::vector<Place> all;
  if (everything_ || !all_tell_) {
    for (const auto& [number, region] : regions_) all.push_back({number, 0, region.size});
  } else {
    for (const Open& one : open_) place(one.touch, all);
    std::sort(all.begin(), all.end());
    std::size_t kept = 0;
    for (const Place& one : all) {
      Place* const last = kept > 0 ? &all[kept - 1] : nullptr;
      if (last && last->region == one.region && one.begin <= last->end) last->end = std::max(last->end, one.end);
      else all[kept++] = one;
    }
    all.resize(kept);
  }
  everything_ = false;
  return all;
}

void SeenMemory::forget_complete() {
  std::erase_if(open_, [](const Open& one) { return one.is_complete; });
}

// Those that overlap what was new; those that are complete are more likely to have written it, and come last.
void SeenMemory::put_touches(const std::vector<Place>& places, std::vector<std::uint8_t>& out) const {
  for (const bool complete : {false, true})
    for (const Open& one : open_)
      if (one.is_complete == complete) put_touch(one, places, out);
}

void SeenMemory::put_touch(const Open& one, const std::vector<Place>& places, std::vector<std::uint8_t>& out) const {
  std::vector<Place> parts;
  place(one.touch, parts);
  for (const Place& part : parts) {
    const auto after = std::upper_bound(places.begin(), places.end(), part);
    const bool overlaps = (after != places.end() && after->region == part.region && after->begin < part.end) ||
                          (after != places.begin() && std::prev(after)->region == part.region && std::prev(after)->end > part.begin);
    if (!overlaps) continue;
    put(out, one.touch.origin);
    put(out, one.touch.number);
    put(out, part.region);
    put(out, part.begin);
    put(out, part.end - part.begin);
  }
}

// Block by block; stretches that follow each other and are both new, or both old, are one.
void SeenMemory::look_at(const Place& place, Look& look, Place& last) {
  const std::uint8_t* const base = regions_[place.region].base;
  std::uint64_t begin = place.begin;
  bool is_new = false;
  const auto flush = [&](std::uint64_t end) {
    if (begin == end) return;
    put(look.ranges, place.region - last.region);
    put(look.ranges, place.region == last.region ? begin - last.end : begin);
    put(look.ranges, (end - begin) << 1 | (is_new ? 1 : 0));
    last = {place.region, begin, end};
    begin = end;
  };
  each_block(place.begin, place.end, [&](std::uint64_t at, std::uint64_t end) {
    const std::uint64_t size = end - at;
    Block& shadow = block(place.region, at);
    std::uint8_t* const before = shadow.bytes.data() + at % kBlock;
    std::uint8_t now[kBlock];  // somebody may be writing
    std::memcpy(now, base + at, size);
    const bool changed = (shadow.known & mask(at, end)) != mask(at, end) || std::memcmp(before, now, size) != 0;
    if (changed != is_new) flush(at);
    is_new = changed;
    if (!changed) return;
    std::memcpy(before, now, size);
    look.bytes.insert(look.bytes.end(), now, now + size);
    shadow.known |= mask(at, end);
  });
  flush(place.end);
}

SeenMemory::Look SeenMemory::look() {
  const bool has_news = hear();
  Look look;
  Place last;
  for (const Place& one : touched()) look_at(one, look, last);
  // What was looked at before and has not changed since is no news.
  if (!has_news && look.bytes.empty()) look = {};
  if (look.any()) {
    std::vector<Seen> seen;
    std::vector<Place> places;
    read_ranges(look.ranges, seen);
    for (const Seen& one : seen)
      if (one.is_new) places.push_back({one.region, one.begin, one.begin + one.size});
    put_touches(places, look.touches);
  }
  forget_complete();
  return look;
}

bool SeenMemory::read_ranges(const std::vector<std::uint8_t>& ranges, std::vector<Seen>& out) {
  ByteReader in(ranges);
  Seen last;
  std::uint64_t end = 0;
  while (in.left() > 0) {
    const std::uint64_t step = in.varint();
    Seen one;
    one.region = last.region + static_cast<std::uint32_t>(step);
    one.begin = in.varint() + (step == 0 ? end : 0);
    const std::uint64_t size = in.varint();
    one.size = size >> 1;
    one.is_new = (size & 1) != 0;
    if (!in.ok()) return false;
    end = one.begin + one.size;
    last = one;
    out.push_back(one);
  }
  return true;
}

bool SeenMemory::read_touches(const std::vector<std::uint8_t>& touches, std::vector<Accessed>& out) {
  ByteReader in(touches);
  while (in.left() > 0) {
    Accessed one;
    one.rank = static_cast<std::uint32_t>(in.varint());
    one.number = static_cast<std::uint32_t>(in.varint());
    one.region = static_cast<std::uint32_t>(in.varint());
    one.begin = in.varint();
    one.size = in.varint();
    if (!in.ok()) return false;
    out.push_back(one);
  }
  return true;
}

std::optional<std::vector<std::uint8_t>> SeenMemory::last_seen(std::uint32_t region, std::uint64_t begin,
                                                               std::uint64_t size) const {
  std::vector<std::uint8_t> out;
  bool known = true;
  each_block(begin, begin + size, [&](std::uint64_t at, std::uint64_t end) {
    const auto found = shadow_.find(key(region, at));
    known = known && found != shadow_.end() && (found->second.known & mask(at, end)) == mask(at, end);
    if (known) out.insert(out.end(), found->second.bytes.data() + at % kBlock, found->second.bytes.data() + at % kBlock + (end - at));
  });
  return known ? std::optional(std::move(out)) : std::nullopt;
}

bool SeenMemory::learn(const std::vector<Seen>& ranges, const std::vector<std::uint8_t>& bytes) {
  std::size_t from = 0;
  for (const Seen& one : ranges) {
    if (!one.is_new) continue;
    if (one.size > bytes.size() - from) return false;
    each_block(one.begin, one.begin + one.size, [&](std::uint64_t at, std::uint64_t end) {
      Block& shadow = block(one.region, at);
      std::memcpy(shadow.bytes.data() + at % kBlock, bytes.data() + from, end - at);
      shadow.known |= mask(at, end);
      from += end - at;
    });
  }
  return true;
}

bool SeenMemory::show(const std::vector<std::uint8_t>& ranges, const std::vector<std::uint8_t>& bytes) {
  std::vector<Seen> all;
  if (!read_ranges(ranges, all)) return false;
  for (const Seen& one : all) {
    const auto found = regions_.find(one.region);
    if (found == regions_.end() || one.begin > found->second.size || one.size > found->second.size - one.begin) return false;
  }
  if (!learn(all, bytes)) return false;
  for (const Seen& one : all)
    each_block(one.begin, one.begin + one.size, [&](std::uint64_t at, std::uint64_t end) {
      std::memcpy(regions_[one.region].base + at, block(one.region, at).bytes.data() + at % kBlock, end - at);
    });
  return true;
}

}  // namespace reprise::engine
