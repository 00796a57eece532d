// What a rank has seen of memory that others write to: the value of each byte when it was looked at last (OPR, section 4).
//
// It is kept in blocks of 64 bytes, and only where somebody has written. Blocks that lie next to each other are found together:
// a rank whose window is under large accesses looks at all of their bytes in every call, and nearly all are as they were.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <unordered_map>

namespace reprise::engine {

class ShadowMemory {
 public:
  static constexpr std::uint64_t kBlock = 64;

  // Bytes begin to end of a region are now what `bytes` points to, where somebody may be writing. Calls
  // visit(begin, end, new bytes or null if they are as they were) for each piece within a block.
  template <class Visit>
  void compare(std::uint32_t region, std::uint64_t begin, std::uint64_t end, const std::uint8_t* bytes, Visit visit) {
    each_block(regions_[region], begin, end, [&](Block& shadow, std::uint64_t at, std::uint64_t next) {
      const std::uint64_t size = next - at, wanted = mask(at, next);
      const std::uint8_t* const from = bytes + (at - begin);
      std::uint8_t* const before = shadow.bytes.data() + at % kBlock;
      const bool is_known = (shadow.known & wanted) == wanted;
      if (is_known && (size == kBlock ? is_same_block(before, from) : std::memcmp(before, from, size) == 0)) return visit(at, next, nullptr);
      std::memcpy(before, from, size);
      shadow.known |= wanted;
      visit(at, next, before);
    });
  }
  // They are what `bytes` points to.
  void learn(std::uint32_t region, std::uint64_t begin, std::uint64_t end, const std::uint8_t* bytes);
  // Calls visit(begin, end, bytes) for each piece within a block that is known as a whole; whether all are.
  template <class Visit>
  bool each_known(std::uint32_t region, std::uint64_t begin, std::uint64_t end, Visit visit) const {
    const auto of_region = regions_.find(region);
    bool all = true;
    for (std::uint64_t next; begin < end; begin = next) {
      next = next_block(begin, end);
      const Block* const shadow = of_region == regions_.end() ? nullptr : of_region->second.find(begin);
      const bool is_known = shadow && (shadow->known & mask(begin, next)) == mask(begin, next);
      if (is_known) visit(begin, next, shadow->bytes.data() + begin % kBlock);
      all = all && is_known;
    }
    return all;
  }
  void forget(std::uint32_t region);

  std::uint64_t bytes() const { return blocks_ * sizeof(Block) + tables_ * sizeof(Neighbours); }

 private:
  struct Block {
    std::array<std::uint8_t, kBlock> bytes;
    std::uint64_t known = 0;  // one bit for each
  };
  static constexpr std::uint64_t kTogether = 16;
  using Neighbours = std::array<std::unique_ptr<Block>, kTogether>;
  struct Region {
    std::unordered_map<std::uint64_t, Neighbours> all;  // by place / (kBlock * kTogether)
    std::uint64_t blocks = 0;
    const Block* find(std::uint64_t at) const;
  };

  static std::uint64_t next_block(std::uint64_t begin, std::uint64_t end) {
    return begin + std::min(end - begin, kBlock - begin % kBlock);
  }
  // A function call for each would take longer than that.
  static bool is_same_block(const std::uint8_t* one, const std::uint8_t* other) {
    std::uint64_t difference = 0;
    for (std::uint64_t i = 0; i < kBlock; i += sizeof difference) {
      std::uint64_t first, second;
      std::memcpy(&first, one + i, sizeof first);
      std::memcpy(&second, other + i, sizeof second);
      difference |= first ^ second;
    }
    return difference == 0;
  }
  // Of the bytes of a block.
  static std::uint64_t mask(std::uint64_t begin, std::uint64_t end) {
    return (end - begin == kBlock ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - begin)) - 1) << begin % kBlock;
  }
  // Calls visit(block, begin, end); those that are not there are made.
  template <class Visit>
  void each_block(Region& region, std::uint64_t begin, std::uint64_t end, Visit visit) {
    while (begin < end) {
      const auto [found, is_first] = region.all.try_emplace(begin / (kBlock * kTogether));
      Neighbours& some = found->second;
      tables_ += is_first ? 1 : 0;
      do {
        std::unique_ptr<Block>& block = some[begin / kBlock % kTogether];
        if (!block) {
          block = std::make_unique_for_overwrite<Block>();
          ++region.blocks;
          ++blocks_;
        }
        const std::uint64_t next = next_block(begin, end);
        visit(*block, begin, next);
        begin = next;
      } while (begin < end && begin % (kBlock * kTogether) != 0);
    }
  }

  std::map<std::uint32_t, Region> regions_;
  std::uint64_t blocks_ = 0;
  std::uint64_t tables_ = 0;
};

}  // namespace reprise::engine
