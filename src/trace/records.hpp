// One record at a time out of the bytes of a chunk. Checks every length; the bytes may come from a hostile file.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "trace/format.hpp"

namespace reprise::trace {

struct Record {
  Kind kind = Kind::Pause;
  std::uint64_t hits = 0;  // predicted calls before this record
  std::span<const std::uint8_t> payload;
};

// False at the end of the bytes or on a record that does not fit (then in.ok() is false).
inline bool read_record(ByteReader& in, Record& out) {
  if (!in.ok() || in.at_end()) return false;
  const auto head = in.fixed<std::uint8_t>();
  out.kind = static_cast<Kind>(head >> 4);
  out.hits = head & 15;
  if (out.hits == 15) {
    const std::uint64_t more = in.varint();
    if (more > UINT32_MAX - 15) in.fail();  // a writer puts a PAUSE before its 32-bit counter is full
    out.hits += more;
  }
  const std::uint8_t* from = in.here();
  switch (out.kind) {
    case Kind::Event: {
      const auto flags = in.fixed<std::uint8_t>();
      if (flags & kSiteFollows) in.varint();
      for (unsigned i = 0; i < kArguments; ++i)
        if (flags & argument_follows(i)) in.varint();
      if (flags >> (kArguments + 1)) in.fail();
      break;
    }
    case Kind::Wildcard: in.bytes(kWildcardBytes); break;
    case Kind::Poll: in.bytes(kPollBytes); break;
    case Kind::Indices: {
      const std::uint64_t count = in.varint();  // 0: MPI_UNDEFINED; n + 1: n indices
      if (count > in.left() + 1) in.fail();
      for (std::uint64_t i = 1; i < count && in.ok(); ++i) in.varint();
      break;
    }
    case Kind::Time: in.varint(); break;
    case Kind::Late:  // ordinal, code, zigzag tag
      in.varint();
      if (in.varint() > UINT32_MAX) in.fail();
      if (in.varint() > UINT32_MAX) in.fail();
      break;
    case Kind::Define: in.bytes(in.varint()); break;
    case Kind::Numbers: {
      const std::uint64_t count = in.varint();  // 0: an errno follows
      if (count > kMaxNumbers) in.fail();
      in.varint();
      for (std::uint64_t i = 1; i < count && in.ok(); ++i) in.varint();
      break;
    }
    case Kind::Bytes: {
      const std::uint64_t count = in.varint();  // 0: an errno follows; n + 1: n bytes
      if (count > kMaxByteString + 1) in.fail();
      if (count == 0) in.varint();
      else in.bytes(count - 1);
      break;
    }
    case Kind::Pause: break;
    default: in.fail();
  }
  if (!in.ok()) return false;
  out.payload = {from, static_cast<std::size_t>(in.here() - from)};
  return true;
}

}  // namespace reprise::trace
