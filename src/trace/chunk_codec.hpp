// Turns the records of a full chunk into the payload of a CHUNK block and back.
//
// Records are taken apart into columns (heads, events, sources, tags, poll counts, ...), because like values beside
// each other compress far better than interleaved ones; each column is stored raw, by zstd or by an entropy coder
// (entropy.hpp), whichever is smallest. Poll counts are split like deflate's lengths: a class symbol, and raw extra
// bits beside it, which keeps them near their order-0 entropy (poll_split.hpp). The outcomes in LATE records are
// stored in a column of their own in front, so that a reader which looks for one late outcome need not decode the
// chunk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "trace/format.hpp"

namespace reprise::trace {

struct ChunkCounts {
  std::uint64_t events = 0;
  std::uint32_t wildcards = 0;
  std::uint32_t lates = 0;
  std::uint32_t cancels = 0;  // lates with kCancelledPost
};

// Bytes of scratch memory that encode_chunk needs, for columns, zstd's context and the result.
std::size_t encode_scratch_size();

// `records` is at most kChunkCapacity bytes. Returns the payload, inside scratch; empty only if the records are not
// well formed. Allocates nothing and never fails on records that the engine wrote.
std::span<const std::uint8_t> encode_chunk(std::span<const std::uint8_t> records, std::span<std::uint8_t> scratch,
                                           ChunkCounts& counts);

// Keeps its memory from chunk to chunk.
class ChunkDecoder {
 public:
  ChunkDecoder();
  ChunkDecoder(ChunkDecoder&&) noexcept;
  ChunkDecoder& operator=(ChunkDecoder&&) noexcept;
  ~ChunkDecoder();

  // The records again, byte for byte as they were when the chunk was encoded, and what they add up to. Trusts nothing.
  // They stay until the next chunk is decoded.
  Result<std::span<const std::uint8_t>> decode(std::span<const std::uint8_t> payload, ChunkCounts& counts);

 private:
  struct Space;
  std::unique_ptr<Space> space_;
};

// The payload of a LATE record: varint ordinal, varint code, signed varint tag.
struct LateOutcome {
  std::uint64_t ordinal = 0;  // number of the WILDCARD record in its stream; of the post, if it was cancelled
  std::uint32_t code = kPending;
  std::int32_t tag = 0;
};
Result<std::vector<LateOutcome>> decode_lates(std::span<const std::uint8_t> payload);
// The next one out of consecutive LATE payloads. in.ok() is false afterwards if there was none.
LateOutcome read_late(ByteReader& in);
// Counts a LATE record that is known to be well formed.
void count_late(std::span<const std::uint8_t> payload, ChunkCounts& counts);

}  // namespace reprise::trace
