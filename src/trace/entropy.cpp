#include "trace/entropy.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/bytes.hpp"

namespace reprise::trace {
namespace {

constexpr unsigned kScaleBits = 14;
constexpr std::uint32_t kScale = 1u << kScaleBits;
constexpr std::uint64_t kLowest = 1ull << 31;  // the state stays in [kLowest, kLowest << 32)
constexpr std::size_t kMaxTable = 256 * 3;

using Frequencies = std::array<std::uint32_t, 256>;

// Counts scaled to a sum of kScale. A symbol that occurs keeps at least 1; what rounding adds or takes away is
// settled with the most frequent symbol, where it matters least.
Frequencies scale(const Histogram& counts, std::size_t total) {
  Frequencies scaled{};
  std::uint32_t sum = 0;
  for (std::size_t s = 0; s < 256; ++s) {
    if (counts[s] == 0) continue;
    scaled[s] = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::uint64_t{counts[s]} * kScale / total));
    sum += scaled[s];
  }
  while (sum != kScale) {
    std::uint32_t& most = *std::max_element(scaled.begin(), scaled.end());
    if (sum < kScale) {
      most += kScale - sum;
      break;
    }
    const std::uint32_t take = std::min(sum - kScale, most / 2);
    most -= take;
    sum -= take;
  }
  return scaled;
}

std::uint8_t* put_table(std::uint8_t* out, const Frequencies& frequencies) {
  for (std::size_t s = 0; s < 256;) {
    out = put_varint(out, frequencies[s]);
    if (frequencies[s++] != 0) continue;
    const std::size_t first = s;
    while (s < 256 && frequencies[s] == 0) ++s;
    out = put_varint(out, s - first);
  }
  return out;
}

bool get_table(ByteReader& in, Frequencies& frequencies) {
  std::uint64_t sum = 0;
  for (std::size_t s = 0; s < 256 && in.ok();) {
    const std::uint64_t frequency = in.varint();
    if (frequency > kScale) return false;
    frequencies[s++] = static_cast<std::uint32_t>(frequency);
    sum += frequency;
    if (frequency != 0) continue;
    const std::uint64_t zeros = in.varint();
    if (zeros > 256 - s) return false;
    s += zeros;
  }
  return in.ok() && sum == kScale;
}

// What encoding one symbol does to the state. The division by the frequency is a multiplication by its reciprocal:
// with shift = ceil(log2 frequency), ceil(2^(63 + shift) / frequency) makes the quotient exact for states below 2^63.
struct Step {
  Step() = default;
  Step(std::uint32_t frequency, std::uint32_t first)
      : limit((kLowest >> kScaleBits << 32) * frequency),
        shift(static_cast<std::uint32_t>(std::bit_width(frequency - 1))),
        rest(kScale - frequency),
        start(first) {
    const Wide dividend = (Wide{1} << (63 + shift)) + frequency - 1;
    reciprocal = static_cast<std::uint64_t>(dividend / frequency);
  }
  std::uint64_t next(std::uint64_t state) const {
    const auto quotient = static_cast<std::uint64_t>(Wide{state << 1} * reciprocal >> 64) >> shift;
    return state + quotient * rest + start;
  }

  __extension__ using Wide = unsigned __int128;
  std::uint64_t limit;  // a state of at least this must be made smaller first
  std::uint64_t reciprocal;
  std::uint32_t shift;
  std::uint32_t rest;
  std::uint32_t start;
};

}  // namespace

Histogram histogram(std::span<const std::uint8_t> symbols) {
  // Two tables: a run of one symbol would otherwise wait for its own last increment each time.
  Histogram even{};
  Histogram odd{};
  std::size_t i = 0;
  for (; i + 1 < symbols.size(); i += 2) {
    ++even[symbols[i]];
    ++odd[symbols[i + 1]];
  }
  if (i < symbols.size()) ++even[symbols[i]];
  for (std::size_t s = 0; s < 256; ++s) even[s] += odd[s];
  return even;
}

double entropy_bytes(const Histogram& counts, std::size_t total) {
  double bits = 0;
  for (const std::uint32_t count : counts)
    if (count != 0) bits += count * std::log2(static_cast<double>(total) / count);
  return bits / 8;
}

std::span<const std::uint8_t> entropy_encode(std::span<const std::uint8_t> symbols, const Histogram& counts,
                                             std::span<std::uint8_t> room) {
  constexpr std::size_t kFront = kMaxTable + 2 * sizeof(std::uint64_t);
  if (symbols.empty() || room.size() < kFront) return {};
  const Frequencies frequencies = scale(counts, symbols.size());
  std::array<Step, 256> steps;
  for (std::uint32_t s = 0, start = 0; s < 256; start += frequencies[s++])
    if (frequencies[s] != 0) steps[s] = Step(frequencies[s], start);

  std::uint8_t* const floor = room.data() + kFront;
  std::uint8_t* out = room.data() + room.size();
  std::uint64_t even = kLowest;
  std::uint64_t odd = kLowest;
  const auto encode = [&](std::uint64_t& state, std::uint8_t symbol) {
    const Step& step = steps[symbol];
    if (state >= step.limit) {
      out -= 4;
      put_fixed<std::uint32_t>(out, static_cast<std::uint32_t>(state));
      state >>= 32;
    }
    state = step.next(state);
  };
  std::size_t i = symbols.size();
  if (i % 2 != 0) encode(even, symbols[--i]);
  while (i > 0) {
    if (out - floor < 12) return {};
    encode(odd, symbols[--i]);
    encode(even, symbols[--i]);
  }
  out -= 8;
  put_fixed<std::uint64_t>(out, odd);
  out -= 8;
  put_fixed<std::uint64_t>(out, even);

  std::array<std::uint8_t, kMaxTable> table;
  const auto size = static_cast<std::size_t>(put_table(table.data(), frequencies) - table.data());
  out -= size;
  std::memcpy(out, table.data(), size);
  return {out, static_cast<std::size_t>(room.data() + room.size() - out)};
}

bool entropy_decode(std::span<const std::uint8_t> stored, std::span<std::uint8_t> symbols) {
  ByteReader in(stored);
  Frequencies frequencies{};
  if (!get_table(in, frequencies)) return false;
  struct Slot {
    std::uint16_t frequency_less_one;
    std::uint16_t offset;  // from the first slot of the symbol
    std::uint8_t symbol;
  };
  std::vector<Slot> slots(kScale);  // too large for the stack of a program's thread
  for (std::size_t s = 0, at = 0; s < 256; ++s)
    for (std::uint32_t offset = 0; offset < frequencies[s]; ++offset)
      slots[at++] = {static_cast<std::uint16_t>(frequencies[s] - 1), static_cast<std::uint16_t>(offset),
                     static_cast<std::uint8_t>(s)};
  auto even = in.fixed<std::uint64_t>();
  auto odd = in.fixed<std::uint64_t>();
  const auto valid = [](std::uint64_t state) { return state >= kLowest && state >> 32 < kLowest; };
  if (!in.ok() || !valid(even) || !valid(odd)) return false;
  const auto decode = [&](std::uint64_t& state) {
    const Slot& slot = slots[state & (kScale - 1)];
    state = (slot.frequency_less_one + std::uint64_t{1}) * (state >> kScaleBits) + slot.offset;
    if (state < kLowest) state = state << 32 | in.fixed<std::uint32_t>();
    return slot.symbol;
  };
  std::size_t i = 0;
  for (; i + 1 < symbols.size(); i += 2) {
    symbols[i] = decode(even);
    symbols[i + 1] = decode(odd);
  }
  if (i < symbols.size()) symbols[i] = decode(even);
  return in.ok() && in.at_end() && even == kLowest && odd == kLowest;
}

}  // namespace reprise::trace
