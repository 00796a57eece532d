// The columns of a CHUNK block: records taken apart (columns_split.cpp) and put together again (columns_join.cpp).
// How a column is stored is chunk_codec.cpp's business.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "trace/chunk_codec.hpp"
#include "trace/format.hpp"

namespace reprise::trace {

// In the order in which they are stored. LATES must stay first. Of the columns from kAlwaysStored on, empty ones at the
// end are left out.
enum Column : unsigned {
  kLates,        // payloads of LATE records
  kHeads,        // head bytes of all records
  kHits,         // the varints behind head bytes that say 15 hits or more
  kEvents,       // payloads of EVENT records
  kCodes,        // codes of wildcard slots, varints
  kTags,         // tags of wildcard slots, differences from the tag before, zigzag varints
  kPollSymbols,  // see poll_split.hpp
  kPollBits,
  kIndexCounts,   // first varints of INDICES records
  kIndexValues,   // their other varints
  kTimes,         // payloads of TIME records
  kDefines,       // payloads of DEFINE records
  kNumberCounts,  // first varints of NUMBERS records
  kNumberValues,  // their other varints
  kByteCounts,    // first varints of BYTES records
  kByteValues,    // what follows them
  kColumns,
};
inline constexpr unsigned kAlwaysStored = kNumberCounts;

// No column grows beyond this: a wildcard slot of 8 bytes becomes varints of at most 5 and 5, a poll slot of 8 at most
// 2 symbols and 62 bits, everything else is copied.
inline constexpr std::size_t kMaxColumn = kChunkCapacity + kChunkCapacity / 4;
// Memory that must be there behind a column (and behind joined records), so that short copies need no check of their
// own. Also the bytes within which any EVENT (6 for its head, 1 for flags, 5 varints), TIME or slot record ends.
inline constexpr std::size_t kSlack = 64;

using ColumnEnds = std::array<std::uint8_t*, kColumns>;

// Writes each column from starts[i] on. False, and nothing of use, if the records are not well formed.
bool split_records(std::span<const std::uint8_t> records, const ColumnEnds& starts, ColumnEnds& ends,
                   ChunkCounts& counts);

// A decoded column: `size` bytes that mean something, then kSlack zeros. The vector never shrinks.
struct ColumnBytes {
  std::vector<std::uint8_t> bytes;
  std::size_t size = 0;

  void resize(std::size_t wanted) {
    size = wanted;
    if (bytes.size() < wanted + kSlack) bytes.resize(wanted + kSlack);
    std::memset(bytes.data() + wanted, 0, kSlack);
  }
};

// A record that starts below the limit and is not checked by itself writes fewer than two slacks beyond it.
inline constexpr std::size_t kRoomToJoin = kChunkCapacity + 2 * kSlack;

// nullptr and the size of the records, or what is wrong with the columns. `room`: kRoomToJoin bytes.
const char* join_columns(const std::array<ColumnBytes, kColumns>& columns, std::uint8_t* room, std::size_t& size,
                         ChunkCounts& counts);

// With kMaxVarint bytes readable from `at` on. nullptr if the varint does not fit into 64 bits.
inline const std::uint8_t* skip_varint(const std::uint8_t* at) {
  for (unsigned i = 0; i < kMaxVarint - 1; ++i)
    if (*at++ < 0x80) return at;
  return *at++ <= 1 ? at : nullptr;
}

inline std::uint8_t* append(std::uint8_t* out, const std::uint8_t* from, const std::uint8_t* to) {
  const auto size = static_cast<std::size_t>(to - from);
  std::memcpy(out, from, size);
  return out + size;
}

// The same for a range that hardly ever exceeds 16 bytes, with 16 readable from `from` on.
inline std::uint8_t* append_short(std::uint8_t* out, const std::uint8_t* from, const std::uint8_t* to) {
  if (to - from > 16) return append(out, from, to);
  std::memcpy(out, from, 16);
  return out + (to - from);
}

}  // namespace reprise::trace
