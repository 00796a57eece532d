// The columns come from a file that may be hostile. What keeps this both safe and fast: each column is followed by
// kSlack zeros, so a field that starts inside it (or at its end) can be read without a check, and the check that the
// field also ended inside comes after it.
#include <bit>

#include "trace/columns.hpp"
#include "trace/poll_split.hpp"

namespace reprise::trace {
namespace {

struct Source {
  explicit Source(const ColumnBytes& column) : at(column.bytes.data()), end(at + column.size) {}

  bool inside() const { return at != nullptr && at <= end; }
  // False if it is broken or does not end inside. To be called only while inside().
  bool skip() {
    at = skip_varint(at);
    return inside();
  }
  bool varint(std::uint64_t& value) {
    value = *at & 0x7f;
    if (*at++ < 0x80) return at <= end;
    unsigned shift = 7;
    for (; shift < 63; shift += 7) {
      value |= static_cast<std::uint64_t>(*at & 0x7f) << shift;
      if (*at++ < 0x80) return at <= end;
    }
    if (*at > 1) return false;
    value |= static_cast<std::uint64_t>(*at++) << shift;
    return at <= end;
  }

  const std::uint8_t* at;
  const std::uint8_t* end;
};

class Joiner {
 public:
  Joiner(const std::array<ColumnBytes, kColumns>& columns, std::uint8_t* out)
      : lates_(columns[kLates]),
        heads_(columns[kHeads]),
        hits_(columns[kHits]),
        events_(columns[kEvents]),
        codes_(columns[kCodes]),
        tags_(columns[kTags]),
        poll_symbols_(columns[kPollSymbols]),
        poll_bits_({columns[kPollBits].bytes.data(), columns[kPollBits].size}),
        index_counts_(columns[kIndexCounts]),
        index_values_(columns[kIndexValues]),
        times_(columns[kTimes]),
        defines_(columns[kDefines]),
        number_counts_(columns[kNumberCounts]),
        number_values_(columns[kNumberValues]),
        byte_counts_(columns[kByteCounts]),
        byte_values_(columns[kByteValues]),
        out_(out),
        limit_(out + kChunkCapacity) {}

  const char* run() {
    while (heads_.at != heads_.end) {
      const std::uint8_t head = *heads_.at++;
      *out_++ = head;
      std::uint64_t hits = head & 15;
      if (hits == 15) [[unlikely]] {
        const std::uint8_t* from = hits_.at;
        std::uint64_t more;
        if (!hits_.varint(more) || more > UINT32_MAX - 15) return "a record claims too many hits";
        hits += more;
        out_ = append_short(out_, from, hits_.at);
      }
      counts.events += hits;
      if (!payload(static_cast<Kind>(head >> 4))) return "the columns do not fit together";
      if (out_ > limit_) return "the chunk is larger than any chunk may be";
    }
    for (const Source* source :
         {&lates_, &hits_, &events_, &codes_, &tags_, &poll_symbols_, &index_counts_, &index_values_, &times_,
          &defines_, &number_counts_, &number_values_, &byte_counts_, &byte_values_})
      if (source->at != source->end) return "the columns do not fit together";
    return poll_bits_.clean() ? nullptr : "the columns do not fit together";
  }

  const std::uint8_t* out() const { return out_; }
  ChunkCounts counts;

 private:
  bool payload(Kind kind) {
    switch (kind) {
      case Kind::Event: {
        ++counts.events;
        const std::uint8_t* const from = events_.at;
        const unsigned flags = *events_.at++;
        if (!events_.inside() || flags >> (kArguments + 1) != 0) return false;
        for (int fields = std::popcount(flags); fields > 0; --fields)
          if (!events_.skip()) return false;
        out_ = append_short(out_, from, events_.at);
        return true;
      }
      case Kind::Wildcard: {
        ++counts.wildcards;
        std::uint64_t code;
        std::uint64_t difference;
        if (!codes_.varint(code) || !tags_.varint(difference)) return false;
        if (code > UINT32_MAX || difference > UINT32_MAX) return false;
        last_tag_ += static_cast<std::uint32_t>(unzigzag(difference));
        out_ = put_fixed(out_, static_cast<std::uint32_t>(code));
        out_ = put_fixed(out_, last_tag_);
        return true;
      }
      case Kind::Poll: {
        unsigned symbol = *poll_symbols_.at++;
        const bool success = symbol != kUnsuccessful;
        if (!success) symbol = *poll_symbols_.at++;
        if (!poll_symbols_.inside() || symbol >= kUnsuccessful) return false;
        unsigned extra;
        const std::uint64_t base = poll_base(symbol, extra);
        const std::uint64_t failures = base | poll_bits_.get(extra);
        out_ = put_fixed(out_, failures << 1 | (success ? 1 : 0));
        return poll_bits_.ok();
      }
      case Kind::Indices: {
        std::uint64_t count;
        if (!copy_count(index_counts_, count)) return false;
        const std::uint8_t* const from = index_values_.at;
        for (std::uint64_t i = 1; i < count; ++i)
          if (!index_values_.skip()) return false;
        return append_long(from, index_values_.at);
      }
      case Kind::Time: {
        const std::uint8_t* const from = times_.at;
        if (!times_.skip()) return false;
        out_ = append_short(out_, from, times_.at);
        return true;
      }
      case Kind::Late: {
        ByteReader in({lates_.at, lates_.end});
        read_late(in);
        if (!in.ok()) return false;
        count_late({lates_.at, in.here()}, counts);
        out_ = append(out_, lates_.at, in.here());
        lates_.at = in.here();
        return true;
      }
      case Kind::Define: {
        const std::uint8_t* const from = defines_.at;
        std::uint64_t size;
        if (!defines_.varint(size) || size > static_cast<std::size_t>(defines_.end - defines_.at)) return false;
        defines_.at += size;
        return append_long(from, defines_.at);
      }
      case Kind::Numbers: {
        std::uint64_t count;
        if (!copy_count(number_counts_, count) || count > kMaxNumbers) return false;
        const std::uint8_t* const from = number_values_.at;
        for (std::uint64_t i = count == 0 ? 0 : 1; i <= count; ++i)
          if (!number_values_.skip()) return false;
        return append_long(from, number_values_.at);
      }
      case Kind::Bytes: {
        std::uint64_t count;
        if (!copy_count(byte_counts_, count) || count > kMaxByteString + 1) return false;
        const std::uint8_t* const from = byte_values_.at;
        if (count == 0) {
          if (!byte_values_.skip()) return false;
        } else {
          if (count - 1 > static_cast<std::size_t>(byte_values_.end - from)) return false;
          byte_values_.at += count - 1;
        }
        return append_long(from, byte_values_.at);
      }
      case Kind::Pause: return true;
    }
    return false;
  }

  bool copy_count(Source& counts_column, std::uint64_t& count) {
    const std::uint8_t* const from = counts_column.at;
    if (!counts_column.varint(count)) return false;
    out_ = append_short(out_, from, counts_column.at);
    return true;
  }

  bool append_long(const std::uint8_t* from, const std::uint8_t* to) {
    if (out_ > limit_ || to - from > limit_ - out_) return false;
    out_ = append(out_, from, to);
    return true;
  }

  Source lates_, heads_, hits_, events_, codes_, tags_, poll_symbols_;
  BitReader poll_bits_;
  Source index_counts_, index_values_, times_, defines_, number_counts_, number_values_, byte_counts_, byte_values_;
  std::uint32_t last_tag_ = 0;
  std::uint8_t* out_;
  const std::uint8_t* limit_;
};

}  // namespace

const char* join_columns(const std::array<ColumnBytes, kColumns>& columns, std::uint8_t* room, std::size_t& size,
                         ChunkCounts& counts) {
  Joiner joiner(columns, room);
  if (const char* wrong = joiner.run()) return wrong;
  counts = joiner.counts;
  size = static_cast<std::size_t>(joiner.out() - room);
  return nullptr;
}

}  // namespace reprise::trace
