#include "engine/seen_memory.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"

namespace reprise::engine {
namespace {

void put(std::vector<std::uint8_t>& out, std::uint64_t value) {
  std::uint8_t bytes[kMaxVarint];
  out.insert(out.end(), bytes, put_varint(bytes, value));
}

}  // namespace

std::uint32_t SeenMemory::add_region(void* base, std::uint64_t size, bool whole) {
  regions_[next_region_] = {static_cast<std::uint8_t*>(base), size, whole};
  return next_region_++;
}

void SeenMemory::mirror(std::uint32_t region, Mirror* mirror, std::uint64_t origin) {
  Region& one = regions_[region];
  one.mirror = mirror;
  one.origin = origin;
}

// Its number is not used again, and neither is its shadow.
void SeenMemory::remove_region(const void* base) {
  const auto found = std::find_if(regions_.begin(), regions_.end(), [&](const auto& one) { return one.second.base == base; });
  if (found == regions_.end()) return;
  const std::uint32_t number = found->first;
  regions_.erase(found);
  shadow_.forget(number);
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
    complete_stores(touch.origin);
    if (touch.size > 0) {
      open_.push_back({.touch = touch});
      has_stores_ |= touch.number == kStore;
      continue;
    }
    for (Open& one : open_) {
      if (one.touch.origin != touch.origin || one.touch.number > touch.number) continue;
      if (touch.begin == 0) one.is_complete = true;
      else if (one.fence == 0) one.fence = touch.begin;
    }
  }
  for (Open& one : open_) one.is_complete |= one.fence != 0 && one.fence <= fences_;
  everything_ |= touches_->take_lost();
  const bool has_news = everything_ || open_.size() > before;
  // A program that only loads makes no call that would look at all of them.
  constexpr std::size_t kMost = 4096;
  if (open_.size() > kMost) {
    forget_complete();
    everything_ = true;
  }
  return has_news;
}

// They are told before they are done, and done when anything is told behind them. Of two, the first is complete already.
void SeenMemory::complete_stores(std::uint32_t origin) {
  if (!has_stores_) return;
  const auto last = std::find_if(open_.rbegin(), open_.rend(), [&](const Open& one) {
    return one.touch.origin == origin && one.touch.number == kStore;
  });
  if (last != open_.rend()) last->is_complete = true;
}

// Where touches say that a region begins.
std::uint64_t SeenMemory::first_name(std::uint32_t number, const Region& region) const {
  if (naming_ == Naming::Regions) return name(number, 0);
  return naming_ == Naming::Addresses ? reinterpret_cast<std::uint64_t>(region.base) : 0;
}

void SeenMemory::place(const Touch& touch, std::vector<Place>& out) const {
  const auto add = [&](std::uint32_t number, const Region& region) {
    const std::uint64_t base = first_name(number, region);
    const std::uint64_t begin = std::max(touch.begin + region.origin, base);
    const std::uint64_t end = std::min(touch.begin + region.origin + touch.size, base + region.size);
    if (begin < end) out.push_back({number, begin - base, end - base});
  };
  if (naming_ == Naming::Regions) {
    const auto found = regions_.find(static_cast<std::uint32_t>(touch.begin >> kOffsetBits));
    if (found != regions_.end()) add(found->first, found->second);
    return;
  }
  for (const auto& [number, region] : regions_) add(number, region);
}

// What may have changed since the last look, in order and without overlaps.
std::vector<SeenMemory::Place> SeenMemory::touched(bool& has_news) {
  std::vector<Place> all;
  for (const Open& one : open_) place(one.touch, all);
  if (everything_ || !all_tell_) {
    for (const auto& [number, region] : regions_) {
      if (region.mirror)
        for (const Mirror::Range& one : region.mirror->changed_by_others()) {
          all.push_back({number, one.begin, one.end});
          has_news = true;  // even if it is what was there before the rank itself stored something
        }
      else if (region.whole) all.push_back({number, 0, region.size});
      else missed_ = true;
    }
  }
  std::sort(all.begin(), all.end());
  std::size_t kept = 0;
  for (const Place& one : all) {
    Place* const last = kept > 0 ? &all[kept - 1] : nullptr;
    // What only borders on it is another access: one may have changed something, and the other not yet.
    if (last && last->region == one.region && one.begin < last->end) last->end = std::max(last->end, one.end);
    else all[kept++] = one;
  }
  all.resize(kept);
  everything_ = false;
  return all;
}

void SeenMemory::forget_complete() {
  std::erase_if(open_, [](const Open& one) { return one.is_complete; });
  has_stores_ = std::any_of(open_.begin(), open_.end(), [](const Open& one) { return one.touch.number == kStore; });
}

void SeenMemory::settle() {
  for (Open& one : open_) one.is_settled = one.is_complete;
}

// What comes there from now on is not theirs. An access is known by all of its bytes, and goes as a whole.
void SeenMemory::forget_settled(const Place& seen) {
  const Region& region = regions_[seen.region];
  const auto first = static_cast<std::int64_t>(first_name(seen.region, region) - region.origin);
  const auto begin = static_cast<std::int64_t>(seen.begin), end = static_cast<std::int64_t>(seen.end);
  for (std::size_t i = 0; i < open_.size(); ++i) {
    Touch& touch = open_[i].touch;
    // From where the region begins; a store may begin before it.
    const std::int64_t its_begin = static_cast<std::int64_t>(touch.begin) - first, its_end = its_begin + static_cast<std::int64_t>(touch.size);
    if (!open_[i].is_settled || its_begin >= end || its_end <= begin) continue;
    if (touch.number != kStore && (its_begin < begin || its_end > end)) continue;
    Open behind = open_[i];
    behind.touch.begin += static_cast<std::uint64_t>(end - its_begin);
    behind.touch.size = its_end > end ? static_cast<std::uint64_t>(its_end - end) : 0;
    touch.size = its_begin < begin ? static_cast<std::uint64_t>(begin - its_begin) : 0;
    if (behind.touch.size > 0) open_.insert(open_.begin() + static_cast<std::ptrdiff_t>(++i), behind);  // in the order in which they came
  }
  std::erase_if(open_, [](const Open& one) { return one.touch.size == 0; });
}

// Those that overlap what was new; those that are complete are more likely to have written it, and come last. So do stores: one
// takes no time.
void SeenMemory::put_touches(const std::vector<Place>& places, std::vector<std::uint8_t>& out) const {
  for (const bool likely : {false, true})
    for (const Open& one : open_)
      if ((one.is_complete || one.touch.number == kStore) == likely) put_touch(one, places, out);
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

// Stretches that follow each other and are both new, or both old, are one.
void SeenMemory::Stretches::add(std::uint32_t region, std::uint64_t begin, std::uint64_t end, bool is_new) {
  if (now_.end == begin && now_.region == region && is_new_ == is_new) {
    now_.end = end;
    return;
  }
  close();
  now_ = {region, begin, end};
  is_new_ = is_new;
}

void SeenMemory::Stretches::close() {
  if (now_.begin == now_.end) return;
  put(out_, now_.region - last_.region);
  put(out_, now_.region == last_.region ? now_.begin - last_.end : now_.begin);
  put(out_, (now_.end - now_.begin) << 1 | (is_new_ ? 1 : 0));
  last_ = now_;
}

void SeenMemory::look_at(const Place& place, Stretches& stretches, std::vector<std::uint8_t>& bytes, const std::uint8_t* given) {
  const std::uint8_t* const from = given ? given : regions_[place.region].base + place.begin;
  shadow_.compare(place.region, place.begin, place.end, from, [&](std::uint64_t begin, std::uint64_t end, const std::uint8_t* changed) {
    stretches.add(place.region, begin, end, changed != nullptr);
    if (changed) bytes.insert(bytes.end(), changed, changed + (end - begin));
  });
}

SeenMemory::Look SeenMemory::look() {
  bool has_news = hear();
  Look look;
  Stretches stretches(look.ranges);
  for (const Place& one : touched(has_news)) {
    // What the rank, or MPI for it, has stored there meanwhile is not to be lost.
    if (Mirror* const mirror = regions_[one.region].mirror) mirror->publish_unhooked(one.begin, one.end - one.begin);
    look_at(one, stretches, look.bytes);
  }
  stretches.close();
  // What was looked at before and has not changed since is no news.
  if (!has_news && look.bytes.empty()) look = {};
  look_over(look);
  forget_complete();
  return look;
}

SeenMemory::Look SeenMemory::look_there(std::uint32_t region, std::uint64_t begin, std::uint64_t end, const std::uint8_t* bytes) {
  if (bytes) settle();  // they have been read
  hear();
  if (!bytes) settle();
  Look look;
  Stretches stretches(look.ranges);
  const Place there{region, begin, end};
  look_at(there, stretches, look.bytes, bytes);
  stretches.close();
  look_over(look);
  forget_settled(there);
  return look;
}

void SeenMemory::look_over(Look& look) {
  most_shadow_bytes_ = std::max(most_shadow_bytes_, shadow_.bytes());
  if (!look.any()) return;
  std::vector<Seen> seen;
  std::vector<Place> places;
  read_ranges(look.ranges, seen);
  for (const Seen& one : seen)
    if (one.is_new) places.push_back({one.region, one.begin, one.begin + one.size});
  put_touches(places, look.touches);
  show_to_program(seen);
}

void SeenMemory::show_to_program(const std::vector<Seen>& seen) {
  for (const Seen& one : seen) {
    Mirror* const mirror = regions_[one.region].mirror;
    if (!mirror) continue;
    shadow_.each_known(one.region, one.begin, one.begin + one.size, [&](std::uint64_t at, std::uint64_t end, const std::uint8_t* bytes) {
      mirror->show(at, bytes, end - at);
    });
  }
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
    if (!in.ok() || one.begin + one.size < one.begin) return false;
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
  // A damaged trace may ask for more than there is.
  if (begin + size < begin || size > shadow_.bytes()) return std::nullopt;
  std::vector<std::uint8_t> out;
  const auto add = [&](std::uint64_t at, std::uint64_t end, const std::uint8_t* bytes) { out.insert(out.end(), bytes, bytes + (end - at)); };
  return shadow_.each_known(region, begin, begin + size, add) ? std::optional(std::move(out)) : std::nullopt;
}

bool SeenMemory::learn(const std::vector<Seen>& ranges, const std::vector<std::uint8_t>& bytes) {
  std::size_t from = 0;
  for (const Seen& one : ranges) {
    if (!one.is_new) continue;
    if (one.size > bytes.size() - from) return false;
    shadow_.learn(one.region, one.begin, one.begin + one.size, bytes.data() + from);
    from += one.size;
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
  for (const Seen& one : all) {
    const auto put_there = [&](std::uint64_t at, std::uint64_t end, const std::uint8_t* seen) {
      std::memcpy(regions_[one.region].base + at, seen, end - at);
    };
    shadow_.each_known(one.region, one.begin, one.begin + one.size, put_there);
  }
  return true;
}

}  // namespace reprise::engine
