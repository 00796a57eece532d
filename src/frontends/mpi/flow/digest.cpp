#define XXH_INLINE_ALL
#include "frontends/mpi/flow/digest.hpp"

#include <xxhash.h>

#include <cstring>

namespace reprise::mpi::flow {
namespace {

// Digests of consecutive pieces of a stream of bytes.
class Pieces {
 public:
  Pieces(std::uint64_t size, std::uint64_t* out) : size_(size), left_(size), out_(out) {}

  void add(const std::uint8_t* from, std::size_t bytes) {
    while (bytes > 0) {
      const std::size_t now = bytes < left_ ? bytes : static_cast<std::size_t>(left_);
      if (now == size_) *out_++ = XXH3_64bits(from, now);  // a piece of its own
      else add_part(from, now);
      from += now;
      bytes -= now;
      left_ -= now;
      if (left_ == 0) end_piece();
    }
  }
  const std::uint64_t* end() {
    if (left_ != size_) end_piece();
    return out_;
  }

 private:
  // Short runs of bytes are put together first: hashing each of them would take most of the time.
  void add_part(const std::uint8_t* from, std::size_t bytes) {
    if (bytes > sizeof buffer_ - used_) {
      begin_long();
      XXH3_64bits_update(&state_, buffer_, used_);
      used_ = 0;
    }
    if (bytes > sizeof buffer_) {
      XXH3_64bits_update(&state_, from, bytes);
      return;
    }
    std::memcpy(buffer_ + used_, from, bytes);
    used_ += bytes;
  }
  void begin_long() {
    if (!long_) XXH3_64bits_reset(&state_);
    long_ = true;
  }
  void end_piece() {
    if (long_) {
      XXH3_64bits_update(&state_, buffer_, used_);
      *out_++ = XXH3_64bits_digest(&state_);
    } else if (used_ > 0) {
      *out_++ = XXH3_64bits(buffer_, used_);
    }
    used_ = 0;
    long_ = false;
    left_ = size_;
  }

  std::uint64_t size_;
  std::uint64_t left_;
  std::uint64_t* out_;
  std::size_t used_ = 0;
  bool long_ = false;
  std::uint8_t buffer_[2048];
  XXH3_state_t state_;
};

}  // namespace

std::uint8_t* Digests::room(std::size_t bytes) {
  if (many_.empty() && size_ + bytes > sizeof few_) many_.assign(few_, few_ + size_);
  if (!many_.empty() || size_ + bytes > sizeof few_) many_.resize(size_ + bytes);
  std::uint8_t* const at = (many_.empty() ? few_ : many_.data()) + size_;
  size_ += bytes;
  return at;
}

void Digests::add(const Region& region, std::uint64_t bytes, std::uint64_t most_pieces) {
  if (bytes == 0 || !region.known()) return;
  std::uint64_t pieces[trace::kMostPieces];
  const std::uint64_t size = trace::piece_size(bytes, most_pieces);
  const std::uint64_t* end = pieces;
  if (region.type->flat.solid) {
    std::uint64_t* out = pieces;
    for (std::uint64_t at = 0; at < bytes; at += size)
      *out++ = XXH3_64bits(region.buffer + at, static_cast<std::size_t>(bytes - at < size ? bytes - at : size));
    end = out;
  } else {
    Pieces all(size, pieces);
    visit(region, bytes, [&](const std::uint8_t* from, std::size_t now) { all.add(from, now); });
    end = all.end();
  }
  const auto count = static_cast<std::size_t>(end - pieces);
  std::uint8_t* out = room(8 + 2 * count);
  const std::uint64_t whole = XXH3_64bits(pieces, 8 * count);
  std::memcpy(out, &whole, 8);
  out += 8;
  for (std::size_t i = 0; i < count; ++i, out += 2) {
    const auto some = static_cast<std::uint16_t>(pieces[i]);
    std::memcpy(out, &some, 2);
  }
}

bool Digests::operator==(const Digests& other) const {
  return size_ == other.size_ && std::memcmp(data(), other.data(), size_) == 0;
}

}  // namespace reprise::mpi::flow
