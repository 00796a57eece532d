// Where the blocks of the program's heap begin and how large they were asked to be, for pointers into the middle of them.
//
// A bit for each possible beginning, and beside it how much larger than wanted the block is, in a tree by address that
// only grows. So remembering and forgetting a block are a store each, without a lock: safe in signal handlers, after
// forks, and wherever malloc itself is.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace reprise::heap {

struct Allocation {
  std::uintptr_t begin = 0;
  std::uint32_t spare = 0;  // bytes at its end that nobody asked for
};

class Allocations {
 public:
  // Blocks that no malloc of today makes are not remembered: those at odd addresses, and with much to spare.
  void add(std::uintptr_t begin, std::size_t spare) {
    if (begin % kGrain != 0 || begin >> kAddressBits != 0 || spare > UINT16_MAX) return;
    Region* const region = find(begin, true);
    if (!region) return;
    const std::size_t grain = begin / kGrain % kGrains;
    region->spare[grain] = static_cast<std::uint16_t>(spare);
    region->begins[grain / 64].fetch_or(std::uint64_t{1} << grain % 64, std::memory_order_release);
    region->used[grain / kPerWord / 64].fetch_or(std::uint64_t{1} << grain / kPerWord % 64, std::memory_order_release);
  }

  void remove(std::uintptr_t begin) {
    if (begin % kGrain != 0 || begin >> kAddressBits != 0) return;
    const std::size_t grain = begin / kGrain % kGrains;
    if (Region* const region = find(begin, false))
      region->begins[grain / 64].fetch_and(~(std::uint64_t{1} << grain % 64), std::memory_order_release);
  }

  // The last one that begins there or before. Whether it reaches that far is for the caller to see.
  std::optional<Allocation> last_before(std::uintptr_t address) {
    if (address >> kAddressBits != 0) return std::nullopt;
    for (std::size_t number = address / kRegion;; --number) {
      if (Region* const region = known(number)) {
        const std::size_t grains = number == address / kRegion ? address / kGrain % kGrains + 1 : kGrains;
        if (const auto grain = last_of(*region, grains))
          return Allocation{number * kRegion + *grain * kGrain, region->spare[*grain]};
      } else if (!branch(number)) {
        number &= ~(kLeaves - 1);  // nothing in all of its neighbours either
      }
      if (number == 0) return std::nullopt;
    }
  }

 private:
  static constexpr std::size_t kGrain = 16;  // what malloc aligns to
  static constexpr std::size_t kGrains = std::size_t{1} << 18;
  static constexpr std::size_t kRegion = kGrain * kGrains;  // 4 MiB
  static constexpr std::size_t kPerWord = 64;
  static constexpr int kAddressBits = 48;
  static constexpr std::size_t kLeaves = std::size_t{1} << 13;
  static constexpr std::size_t kBranches = (std::size_t{1} << kAddressBits) / kRegion / kLeaves;

  struct Region {
    std::atomic<std::uint64_t> used[kGrains / kPerWord / 64];  // a bit per word of `begins` that was ever set
    std::atomic<std::uint64_t> begins[kGrains / 64];
    std::uint16_t spare[kGrains];
  };
  struct Branch {
    std::atomic<Region*> regions[kLeaves];
  };

  // Fresh maps are zero, and take up room only where they are written to.
  template <class T>
  static T* get(std::atomic<T*>& place, bool make) {
    T* known = place.load(std::memory_order_acquire);
    if (known || !make) return known;
    void* const fresh = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fresh == MAP_FAILED) return nullptr;
    if (place.compare_exchange_strong(known, static_cast<T*>(fresh), std::memory_order_acq_rel)) return static_cast<T*>(fresh);
    munmap(fresh, sizeof(T));
    return known;
  }

  Branch* branch(std::size_t number) { return get(branches_[number / kLeaves], false); }
  Region* known(std::size_t number) {
    Branch* const found = branch(number);
    return found ? get(found->regions[number % kLeaves], false) : nullptr;
  }
  Region* find(std::uintptr_t address, bool make) {
    const std::size_t number = address / kRegion;
    Branch* const found = get(branches_[number / kLeaves], make);
    return found ? get(found->regions[number % kLeaves], make) : nullptr;
  }

  // Of the first `grains`.
  static std::optional<std::size_t> last_of(const Region& region, std::size_t grains) {
    const auto below = [](std::uint64_t word, std::size_t bits) {
      return bits >= 64 ? word : word & ((std::uint64_t{1} << bits) - 1);
    };
    const std::size_t words = (grains + 63) / 64;
    for (std::size_t group = (words + 63) / 64; group-- > 0;) {
      std::uint64_t used = below(region.used[group].load(std::memory_order_acquire), words - group * 64);
      while (used != 0) {
        const auto bit = static_cast<std::size_t>(63 - std::countl_zero(used));
        used &= ~(std::uint64_t{1} << bit);
        const std::size_t word = group * 64 + bit;
        const std::uint64_t begins = below(region.begins[word].load(std::memory_order_acquire), grains - word * 64);
        if (begins != 0) return word * 64 + static_cast<std::size_t>(63 - std::countl_zero(begins));
      }
    }
    return std::nullopt;
  }

  std::atomic<Branch*> branches_[kBranches] = {};
};

}  // namespace reprise::heap
