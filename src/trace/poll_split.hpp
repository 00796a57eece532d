// A poll count as a symbol and raw extra bits, in the manner of deflate's lengths.
//
// Small counts are symbols of their own. Larger ones fall into classes of an eighth of an octave (whole octaves from
// 2^20 on): counts within so narrow a class are nearly equally likely, so the bits that tell them apart cannot be
// compressed and are stored as they are, while the symbols are entropy coded. A series that did not end in success
// (the rare case) is marked by a symbol in front.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.hpp"

namespace reprise::trace {

inline constexpr unsigned kExactPolls = 32;                                    // symbols 0..31: that many failures
inline constexpr unsigned kFineWidth = 20;                                     // bit lengths 6..20: eight classes each
inline constexpr unsigned kCoarseSymbol = kExactPolls + (kFineWidth - 5) * 8;  // bit lengths 21..63: one class each
inline constexpr unsigned kUnsuccessful = kCoarseSymbol + (63 - kFineWidth);   // the next series ended in failure
static_assert(kUnsuccessful <= 255);

struct PollSplit {
  std::uint8_t symbol;
  std::uint8_t extra;  // how many of the lowest bits are stored raw
};

inline PollSplit split_poll(std::uint64_t failures) {
  if (failures < kExactPolls) return {static_cast<std::uint8_t>(failures), 0};
  const auto width = static_cast<unsigned>(std::bit_width(failures));
  if (width <= kFineWidth) {
    const auto eighth = static_cast<unsigned>(failures >> (width - 4)) & 7;
    return {static_cast<std::uint8_t>(kExactPolls + (width - 6) * 8 + eighth), static_cast<std::uint8_t>(width - 4)};
  }
  return {static_cast<std::uint8_t>(kCoarseSymbol + width - kFineWidth - 1), static_cast<std::uint8_t>(width - 1)};
}

// The smallest count of the symbol's class, and its number of extra bits. `symbol` is below kUnsuccessful.
inline std::uint64_t poll_base(unsigned symbol, unsigned& extra) {
  extra = 0;
  if (symbol < kExactPolls) return symbol;
  if (symbol < kCoarseSymbol) {
    extra = (symbol - kExactPolls) / 8 + 2;
    return std::uint64_t{8 + (symbol - kExactPolls) % 8} << extra;
  }
  extra = symbol - kCoarseSymbol + kFineWidth;
  return std::uint64_t{1} << extra;
}

// Bits from the lowest to the highest of each byte.
class BitWriter {
 public:
  explicit BitWriter(std::uint8_t* out) : out_(out) {}
  void put(std::uint64_t value, unsigned count) {
    while (count > 0) {
      const unsigned part = count < 32 ? count : 32;
      held_ |= (value & ((1ull << part) - 1)) << used_;
      used_ += part;
      value >>= part;
      count -= part;
      if (used_ < 32) continue;
      out_ = put_fixed<std::uint32_t>(out_, static_cast<std::uint32_t>(held_));
      held_ >>= 32;
      used_ -= 32;
    }
  }
  std::uint8_t* finish() {
    for (; used_ > 0; used_ -= used_ < 8 ? used_ : 8, held_ >>= 8) *out_++ = static_cast<std::uint8_t>(held_);
    return out_;
  }

 private:
  std::uint8_t* out_;
  std::uint64_t held_ = 0;
  unsigned used_ = 0;
};

class BitReader {
 public:
  explicit BitReader(std::span<const std::uint8_t> bytes) : in_(bytes) {}
  std::uint64_t get(unsigned count) {
    std::uint64_t value = 0;
    for (unsigned have = 0; have < count;) {
      if (left_ == 0) {
        current_ = in_.fixed<std::uint8_t>();
        left_ = 8;
      }
      const unsigned part = count - have < left_ ? count - have : left_;
      value |= (current_ & ((1ull << part) - 1)) << have;
      current_ >>= part;
      left_ -= part;
      have += part;
    }
    return value;
  }
  // Everything was there, was used, and what fills the last byte is zero.
  bool clean() const { return in_.ok() && in_.at_end() && current_ == 0; }
  bool ok() const { return in_.ok(); }

 private:
  ByteReader in_;
  std::uint64_t current_ = 0;
  unsigned left_ = 0;
};

}  // namespace reprise::trace
