// Every record of a full chunk passes through here while the program waits. Runs of the common kinds are therefore
// parsed by hand, with one check for the room of a whole record, on cursors that the compiler can keep in registers.
// Near the end of the records, and for the other kinds, the careful reader finds out how long a record is.
#include <bit>

#include "trace/columns.hpp"
#include "trace/poll_split.hpp"
#include "trace/records.hpp"

namespace reprise::trace {
namespace {

struct Splitter {
  ColumnEnds column;
  BitWriter bits;
  ChunkCounts counts;
  std::uint32_t last_tag = 0;

  void wildcard(const std::uint8_t* payload) {
    ++counts.wildcards;
    column[kCodes] = put_varint(column[kCodes], get_fixed<std::uint32_t>(payload));
    const auto tag = get_fixed<std::uint32_t>(payload + 4);
    column[kTags] = put_varint(column[kTags], zigzag(static_cast<std::int32_t>(tag - last_tag)));
    last_tag = tag;
  }

  void poll(const std::uint8_t* payload) {
    const auto value = get_fixed<std::uint64_t>(payload);
    if ((value & 1) == 0) *column[kPollSymbols]++ = kUnsuccessful;
    const PollSplit split = split_poll(value >> 1);
    *column[kPollSymbols]++ = split.symbol;
    bits.put(value >> 1, split.extra);
  }

  // The first varint into one column, what follows it into another.
  void two_parts(Column counts_column, Column values_column, const std::uint8_t* payload, const std::uint8_t* end) {
    const std::uint8_t* const values = skip_varint(payload);
    column[counts_column] = append(column[counts_column], payload, values);
    column[values_column] = append(column[values_column], values, end);
  }

  void any(const std::uint8_t* at, const Record& record) {
    const std::uint8_t* payload = record.payload.data();
    const std::uint8_t* const end = payload + record.payload.size();
    *column[kHeads]++ = *at;
    column[kHits] = append(column[kHits], at + 1, payload);
    counts.events += record.hits;
    switch (record.kind) {
      case Kind::Event:
        ++counts.events;
        column[kEvents] = append(column[kEvents], payload, end);
        break;
      case Kind::Wildcard: wildcard(payload); break;
      case Kind::Poll: poll(payload); break;
      case Kind::Indices: two_parts(kIndexCounts, kIndexValues, payload, end); break;
      case Kind::Time: column[kTimes] = append(column[kTimes], payload, end); break;
      case Kind::Late:
        count_late({payload, end}, counts);
        column[kLates] = append(column[kLates], payload, end);
        break;
      case Kind::Define: column[kDefines] = append(column[kDefines], payload, end); break;
      case Kind::Numbers: two_parts(kNumberCounts, kNumberValues, payload, end); break;
      case Kind::Bytes: two_parts(kByteCounts, kByteValues, payload, end); break;
      case Kind::Pause: break;
    }
  }
};

// Splits records for as long as they are of a common kind, with fewer than 15 hits, and far enough from the end.
// Returns where it stopped; a record that is broken is left to the careful reader as well.
const std::uint8_t* split_run(const std::uint8_t* at, const std::uint8_t* const end, Splitter& splitter) {
  Splitter s = splitter;  // a local whose address goes nowhere, so that no byte written can change it
  while (static_cast<std::size_t>(end - at) >= kSlack) {
    const std::uint8_t head = *at;
    if ((head & 15) == 15) break;
    const std::uint8_t* const payload = at + 1;
    const std::uint8_t* next = payload;
    const auto kind = static_cast<Kind>(head >> 4);
    if (kind == Kind::Wildcard) {
      s.wildcard(payload);
      next += kWildcardBytes;
    } else if (kind == Kind::Poll) {
      s.poll(payload);
      next += kPollBytes;
    } else if (kind == Kind::Event) {
      const unsigned flags = *next++;
      if (flags >> (kArguments + 1) != 0) break;
      for (int fields = std::popcount(flags); fields > 0 && next != nullptr; --fields) next = skip_varint(next);
      if (next == nullptr) break;
      ++s.counts.events;
      s.column[kEvents] = append_short(s.column[kEvents], payload, next);
    } else if (kind == Kind::Time) {
      next = skip_varint(next);
      if (next == nullptr) break;
      s.column[kTimes] = append_short(s.column[kTimes], payload, next);
    } else if (kind == Kind::Indices) {
      const unsigned count = *next++;
      if (count > 5) break;  // more varints than surely fit
      for (unsigned i = 1; i < count && next != nullptr; ++i) next = skip_varint(next);
      if (next == nullptr) break;
      *s.column[kIndexCounts]++ = static_cast<std::uint8_t>(count);
      s.column[kIndexValues] = append_short(s.column[kIndexValues], payload + 1, next);
    } else if (kind == Kind::Numbers) {
      if (*next++ != 1) break;  // a clock says one number
      next = skip_varint(next);
      if (next == nullptr) break;
      *s.column[kNumberCounts]++ = 1;
      s.column[kNumberValues] = append_short(s.column[kNumberValues], payload + 1, next);
    } else {
      break;
    }
    *s.column[kHeads]++ = head;
    s.counts.events += head & 15;
    at = next;
  }
  splitter = s;
  return at;
}

}  // namespace

bool split_records(std::span<const std::uint8_t> records, const ColumnEnds& starts, ColumnEnds& ends,
                   ChunkCounts& counts) {
  Splitter splitter{starts, BitWriter(starts[kPollBits]), {}};
  const std::uint8_t* at = records.data();
  const std::uint8_t* const end = at + records.size();
  while ((at = split_run(at, end, splitter)) != end) {
    ByteReader in({at, end});
    Record record;
    if (!read_record(in, record)) return false;
    splitter.any(at, record);
    at = in.here();
  }
  ends = splitter.column;
  ends[kPollBits] = splitter.bits.finish();
  counts = splitter.counts;
  return true;
}

}  // namespace reprise::trace
