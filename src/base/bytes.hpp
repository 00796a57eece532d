// Little-endian integers, varints and length-prefixed strings, written into and read from plain memory.
//
// Writers trust their caller to have made room (kMaxVarint bytes for a varint). Readers trust nobody: they are used on
// files that may be damaged or hostile, so every read is checked and failure is sticky (see ByteReader).
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace reprise {

static_assert(std::endian::native == std::endian::little, "Reprise runs on little-endian machines");

inline constexpr std::size_t kMaxVarint = 10;

inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

inline std::int64_t unzigzag(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
}

inline std::uint8_t* put_varint(std::uint8_t* out, std::uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<std::uint8_t>(value) | 0x80;
    value >>= 7;
  }
  *out++ = static_cast<std::uint8_t>(value);
  return out;
}

inline std::uint8_t* put_signed(std::uint8_t* out, std::int64_t value) { return put_varint(out, zigzag(value)); }

template <class Int>
inline std::uint8_t* put_fixed(std::uint8_t* out, Int value) {
  std::memcpy(out, &value, sizeof value);
  return out + sizeof value;
}

template <class Int>
inline Int get_fixed(const std::uint8_t* in) {
  Int value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

// Nothing may be nowhere: memcpy wants an address also for no bytes.
inline std::uint8_t* put_bytes(std::uint8_t* out, const void* from, std::size_t size) {
  if (size > 0) std::memcpy(out, from, size);
  return out + size;
}

inline std::uint8_t* put_string(std::uint8_t* out, std::string_view text) {
  return put_bytes(put_varint(out, text.size()), text.data(), text.size());
}

// Reads forward through a span. After the first read that does not fit, ok() is false and every read yields zero.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return ok_; }
  bool at_end() const { return at_ == end_; }
  std::size_t offset() const { return static_cast<std::size_t>(at_ - begin_); }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  const std::uint8_t* here() const { return at_; }
  void fail() {
    ok_ = false;
    at_ = end_;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == end_) break;
      const std::uint8_t byte = *at_++;
      if (shift == 63 && byte > 1) break;  // would not fit into 64 bits
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

  std::int64_t signed_varint() { return unzigzag(varint()); }

  template <class Int>
  Int fixed() {
    if (left() < sizeof(Int)) {
      fail();
      return Int{};
    }
    const Int value = get_fixed<Int>(at_);
    at_ += sizeof(Int);
    return value;
  }

  std::span<const std::uint8_t> bytes(std::uint64_t count) {
    if (left() < count) {
      fail();
      return {};
    }
    const std::uint8_t* from = at_;
    at_ += count;
    return {from, static_cast<std::size_t>(count)};
  }

  std::string_view string(std::uint64_t limit) {
    const std::uint64_t size = varint();
    if (size > limit) fail();
    const auto span = bytes(ok_ ? size : 0);
    return {reinterpret_cast<const char*>(span.data()), span.size()};
  }

 private:
  const std::uint8_t* begin_;
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool ok_ = true;
};

}  // namespace reprise
