#include "flow/units.hpp"

#include <algorithm>
#include <cstring>

namespace reprise::flow {
namespace {

constexpr std::uint64_t kMostUnits = 1u << 20;

// The pieces of memory of a block, one after the other.
class Pieces {
 public:
  explicit Pieces(const LoggedBlock& block) : block_(block) { settle(); }

  bool at_end() const { return element_ >= block_.count || block_.type->flat.runs.empty(); }
  std::int64_t place() const {
    return block_.place + static_cast<std::int64_t>(element_) * block_.type->flat.extent + run().offset +
           static_cast<std::int64_t>(used_);
  }
  std::uint64_t left() const {
    if (block_.type->flat.solid) return block_.bytes() - element_ * block_.type->flat.size - used_;
    return run().size - used_;
  }
  // From the beginning.
  void skip(std::uint64_t bytes) {
    const engine::FlatType& flat = block_.type->flat;
    if (flat.solid || flat.size == 0 || block_.type->begins.empty()) return advance(bytes);
    element_ = bytes / flat.size;
    run_ = engine::run_of(block_.type->begins, bytes % flat.size);
    used_ = bytes % flat.size - block_.type->begins[run_];
  }
  void advance(std::uint64_t bytes) {
    used_ += bytes;
    settle();
  }

 private:
  const engine::FlatType::Run& run() const { return block_.type->flat.runs[run_]; }
  void settle() {
    const engine::FlatType& flat = block_.type->flat;
    if (flat.runs.empty()) return;
    if (flat.solid) {
      element_ += used_ / flat.size;
      used_ %= flat.size;
      return;
    }
    while (used_ >= flat.runs[run_].size) {
      used_ -= flat.runs[run_].size;
      if (++run_ < flat.runs.size()) continue;
      run_ = 0;
      if (++element_ >= block_.count) return;
    }
  }

  const LoggedBlock& block_;
  std::uint64_t element_ = 0;
  std::size_t run_ = 0;
  std::uint64_t used_ = 0;
};

}  // namespace

bool each_unit(const LoggedBlock& given, const LoggedBlock& taken, std::uint64_t bytes, FunctionRef<void(const Unit&)> visit,
               std::uint64_t first) {
  if (bytes <= first || !given.type || !taken.type) return true;
  Pieces from(given);
  Pieces to(taken);
  std::uint64_t number = 0;
  std::uint64_t begins = first;
  if (first > 0) {
    from.skip(first);
    to.skip(first);
  }
  // Units that follow each other on both sides are one.
  Unit current;
  const auto close = [&] {
    if (current.size == 0) return;
    current.number = ++number;
    visit(current);
  };
  while (begins < bytes && !from.at_end() && !to.at_end()) {
    const std::uint64_t now = std::min({from.left(), to.left(), bytes - begins});
    const bool follows = current.size > 0 && from.place() == current.from + static_cast<std::int64_t>(current.size) &&
                         to.place() == current.to + static_cast<std::int64_t>(current.size);
    if (follows) {
      current.size += now;
    } else {
      close();
      if (number >= kMostUnits) return false;
      current = {0, 0, from.place(), to.place(), now, begins};
    }
    from.advance(now);
    to.advance(now);
    begins += now;
  }
  close();
  return number < kMostUnits;
}

Unit unit_at(const LoggedBlock& given, const LoggedBlock& taken, std::uint64_t bytes, std::uint64_t offset) {
  Unit found;
  std::uint64_t last = 0;
  const bool all = each_unit(given, taken, bytes, [&](const Unit& one) {
    last = one.number;
    if (offset >= one.begins && offset < one.begins + one.size) found = one;
  });
  found.of = all ? last : 0;
  return found;
}

std::optional<Difference> difference(const std::uint8_t* one, const std::uint8_t* other, std::uint64_t bytes,
                                     std::uint64_t most_pieces) {
  if (std::memcmp(one, other, 8) == 0) return std::nullopt;
  const std::uint64_t size = trace::piece_size(bytes, most_pieces);
  for (std::uint64_t i = 0; i * size < bytes; ++i)
    if (std::memcmp(one + 8 + 2 * i, other + 8 + 2 * i, 2) != 0) return Difference{i * size, std::min((i + 1) * size, bytes)};
  return Difference{0, bytes};  // somewhere
}

bool may_overlap(const LoggedBlock& one, std::uint64_t first, const LoggedBlock& other, std::uint64_t second) {
  const auto span = [](const LoggedBlock& block, std::uint64_t address) {
    const engine::FlatType& flat = block.type->flat;
    const std::int64_t steps = static_cast<std::int64_t>(block.count - 1) * flat.extent;
    const auto begin = static_cast<std::int64_t>(address) + flat.true_lower + std::min<std::int64_t>(steps, 0);
    return std::pair(begin, begin + flat.true_extent + (steps < 0 ? -steps : steps));
  };
  if (one.bytes() == 0 || other.bytes() == 0) return false;
  const auto [a, b] = span(one, first);
  const auto [c, d] = span(other, second);
  if (b <= c || d <= a) return false;
  constexpr std::uint64_t kFew = 1u << 16;
  const auto all = [](const LoggedBlock& block, std::uint64_t address) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
    LoggedBlock moved = block;
    moved.place = static_cast<std::int64_t>(address);
    for (Pieces piece(moved); !piece.at_end() && pieces.size() <= kFew;) {
      const std::uint64_t now = piece.left();
      pieces.emplace_back(piece.place(), piece.place() + static_cast<std::int64_t>(now));
      piece.advance(now);
    }
    std::sort(pieces.begin(), pieces.end());
    return pieces;
  };
  const auto left = all(one, first);
  const auto right = all(other, second);
  if (left.size() > kFew || right.size() > kFew) return true;
  for (std::size_t i = 0, j = 0; i < left.size() && j < right.size();) {
    if (left[i].second <= right[j].first) ++i;
    else if (right[j].second <= left[i].first) ++j;
    else return true;
  }
  return false;
}

}  // namespace reprise::flow
