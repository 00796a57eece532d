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
    std::uint32_t& last = origins_[touch.origin];
    last = std::max(last, touch.number);
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
  std::erase_if(open_, [](const Open& one) { return one.is_complete; });
  return all;
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
  for (std::uint64_t at = place.begin; at < place.end;) {
    const std::uint64_t end = std::min(place.end, (at / kBlock + 1) * kBlock);
    const std::uint64_t within = at % kBlock;
    const std::uint64_t size = end - at;
    const std::uint64_t mask = (size == kBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1) << within;
    Block& shadow = block(place.region, at);
    std::uint8_t now[kBlock];  // somebody may be writing
    std::memcpy(now, base + at, size);
    const bool changed = (shadow.known & mask) != mask || std::memcmp(shadow.bytes.data() + within, now, size) != 0;
    if (changed != is_new) flush(at);
    is_new = changed;
    if (changed) {
      std::memcpy(shadow.bytes.data() + within, now, size);
      look.bytes.insert(look.bytes.end(), now, now + size);
    }
    shadow.known |= mask;
    at = end;
  }
  flush(place.end);
}

SeenMemory::Look SeenMemory::look() {
  const bool has_news = hear();
  Look look;
  Place last;
  for (const Place& one : touched()) look_at(one, look, last);
  // What was looked at before and has not changed since is no news.
  if (!has_news && look.bytes.empty()) return {};
  if (!look.any()) return look;
  for (const auto& [rank, number] : origins_) {
    put(look.origins, rank);
    put(look.origins, number);
  }
  origins_.clear();
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

bool SeenMemory::read_origins(const std::vector<std::uint8_t>& origins, std::vector<Origin>& out) {
  ByteReader in(origins);
  while (in.left() > 0) {
    const auto rank = static_cast<std::uint32_t>(in.varint());
    const auto number = static_cast<std::uint32_t>(in.varint());
    if (!in.ok()) return false;
    out.push_back({rank, number});
  }
  return true;
}

bool SeenMemory::show(const std::vector<std::uint8_t>& ranges, const std::vector<std::uint8_t>& bytes) {
  std::vector<Seen> all;
  if (!read_ranges(ranges, all)) return false;
  std::size_t from = 0;
  for (const Seen& one : all) {
    const auto found = regions_.find(one.region);
    if (found == regions_.end() || one.begin > found->second.size || one.size > found->second.size - one.begin) return false;
    if (one.is_new && one.size > bytes.size() - from) return false;
    std::uint8_t* const base = found->second.base;
    for (std::uint64_t at = one.begin; at < one.begin + one.size;) {
      const std::uint64_t end = std::min(one.begin + one.size, (at / kBlock + 1) * kBlock);
      std::uint8_t* const shadow = block(one.region, at).bytes.data() + at % kBlock;
      if (one.is_new) {
        std::memcpy(shadow, bytes.data() + from, end - at);
        from += end - at;
      }
      std::memcpy(base + at, shadow, end - at);
      at = end;
    }
  }
  return true;
}

}  // namespace reprise::engine
