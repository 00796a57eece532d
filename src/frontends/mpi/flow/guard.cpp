#include "frontends/mpi/flow/guard.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "frontends/mpi/flow/operation.hpp"

namespace reprise::mpi::flow {
namespace {

constexpr std::size_t kBand = 64;     // bytes behind a buffer
constexpr std::size_t kTail = 256;    // last bytes of a buffer, which a shorter message leaves alone
constexpr std::size_t kHoles = 2048;  // bytes of a type with holes, from its first byte on

struct Span {
  const std::uint8_t* from = nullptr;
  const std::uint8_t* to = nullptr;
  bool meets(const Span& other) const { return from < other.to && other.from < to; }
};

Span span_of(const Region& region) {
  if (region.count == 0 || !region.known() || region.bytes() == 0) return {};
  const engine::Bounds bounds = engine::bounds_of(region.type->flat, region.count);
  return {region.buffer + bounds.begin, region.buffer + bounds.end};
}

// Where the memory that the program got there ends: never across a page that may not be readable, nor into what malloc
// keeps behind a block, or has given to somebody else.
const std::uint8_t* end_of_room(const std::uint8_t* behind) {
  using Lookup = bool (*)(const void*, std::uintptr_t*, std::size_t*);
  static const auto lookup = reinterpret_cast<Lookup>(dlsym(RTLD_DEFAULT, "reprise_allocation_at"));
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<std::uintptr_t>(behind);
  std::uintptr_t end = (at + page - 1) / page * page;
  std::uintptr_t begin = 0;
  std::size_t size = 0;
  if (!lookup) return behind;
  if (lookup(behind - 1, &begin, &size) && at - 1 < begin + size) end = std::min(end, begin + size);
  return reinterpret_cast<const std::uint8_t*>(std::max(end, at));
}

// Another process may write there.
bool is_shared(const std::uint8_t* at) {
  FILE* const maps = std::fopen("/proc/self/maps", "re");
  if (!maps) return true;
  char line[512];
  bool shared = true;
  while (std::fgets(line, sizeof line, maps)) {
    std::uintptr_t from = 0;
    std::uintptr_t to = 0;
    char access[8] = "";
    if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %7s", &from, &to, access) != 3) continue;
    const auto address = reinterpret_cast<std::uintptr_t>(at);
    if (address < from || address >= to) continue;
    shared = access[3] != 'p';
    break;
  }
  std::fclose(maps);
  return shared;
}

}  // namespace

void Guard::keep(std::size_t block, const std::uint8_t* from, const std::uint8_t* to, bool behind) {
  if (from >= to || kept_count_ == std::size(kept_)) return;
  const std::size_t size = std::min<std::size_t>(static_cast<std::size_t>(to - from), kRoom - used_);
  if (size == 0) return;
  std::memcpy(copy_ + used_, from, size);
  kept_[kept_count_++] = {block, from, size, used_, behind};
  used_ += size;
}

Guard::Guard(std::span<const Block> takes, std::span<const Block> gives, const void* status, std::size_t status_bytes)
    : takes_(takes.size() <= kMostBlocks ? takes : std::span<const Block>()) {
  Span all[2 * kMostBlocks + 1];
  std::size_t count = 0;
  for (const Block& block : takes_) all[count++] = span_of(block.region);
  // Where there are many, what is given lies in one buffer.
  Span given;
  for (const Block& block : gives) {
    const Span one = span_of(block.region);
    if (!one.from) continue;
    given = given.from ? Span{std::min(given.from, one.from), std::max(given.to, one.to)} : one;
  }
  all[count++] = given;
  const auto* const told = static_cast<const std::uint8_t*>(status);
  all[count++] = {told, told ? told + status_bytes : told};
  for (std::size_t i = 0; i < takes_.size(); ++i) {
    const Region& region = takes_[i].region;
    const Span own = all[i];
    if (!own.from || may_be_in_window(own.from) || may_be_in_window(own.to)) continue;
    const std::uint8_t* end = std::min(own.to + kBand, end_of_room(own.to));
    for (std::size_t j = 0; j < count; ++j)
      if (all[j].from && all[j].meets({own.to, end})) end = std::max(own.to, all[j].from);
    bool shares = false;
    each_pending_write([&](const Region& other) {
      if (other.count > 0 && !other.known()) {
        shares = true;
        end = own.to;
        return;
      }
      const Span span = span_of(other);
      if (!span.from) return;
      shares = shares || span.meets(own);
      if (span.meets({own.to, end})) end = std::max(own.to, span.from);
    });
    keep(i, own.to, end, true);
    if (shares) continue;
    if (!region.type->flat.solid) {
      keep(i, own.from, std::min(own.to, own.from + kHoles / takes_.size()), false);
    } else if (takes_.size() == 1) {
      keep(i, std::max(own.from, own.to - kTail), own.to, false);
    }
  }
}

// What was to be written may be anything now; all else must be as it was.
void Guard::look(std::uint64_t bytes) const {
  for (const Kept& kept : std::span(kept_, kept_count_)) {
    if (std::memcmp(copy_ + kept.at, kept.from, kept.size) == 0) continue;
    std::uint8_t expected[kRoom];
    std::memcpy(expected, copy_ + kept.at, kept.size);
    const std::uint8_t* const end = kept.from + kept.size;
    for (const Block& block : takes_) {
      const std::uint64_t written = std::min(bytes, block.region.bytes());
      if (!block.region.known()) continue;
      visit(block.region, written, [&](const std::uint8_t* from, std::size_t size) {
        const std::uint8_t* const first = std::max(from, kept.from);
        const std::uint8_t* const last = std::min(from + size, end);
        if (first < last) std::memcpy(expected + (first - kept.from), first, static_cast<std::size_t>(last - first));
      });
    }
    const auto different = std::mismatch(expected, expected + kept.size, kept.from).second;
    if (different == end || is_shared(different)) continue;
    const auto offset = static_cast<std::uint64_t>(different - takes_[kept.block].region.buffer);
    log_remark(kept.behind ? trace::Seen::WrittenBehind : trace::Seen::WrittenBetween, 1, kept.block, offset, 0);
  }
}

}  // namespace reprise::mpi::flow
