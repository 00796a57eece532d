#include "flow/labels.hpp"

#include <algorithm>

namespace reprise::flow {

// The first piece that begins at this byte or behind it; one that it is in the middle of is cut.
Labels::Pieces::iterator Labels::split(std::uint64_t at) {
  auto next = pieces_.lower_bound(at);
  if (next == pieces_.begin() || (next != pieces_.end() && next->first == at)) return next;
  auto before = std::prev(next);
  if (before->second.end <= at) return next;
  Piece rest = before->second;
  rest.label.address += at - before->first;
  before->second.end = at;
  return pieces_.emplace_hint(next, at, rest);
}

void Labels::erase(std::uint64_t at, std::uint64_t bytes) {
  if (bytes == 0 || pieces_.empty()) return;
  auto first = split(at);
  while (first != pieces_.end() && first->first < at + bytes) {
    if (first->second.end > at + bytes) {
      split(at + bytes);
    }
    first = pieces_.erase(first);
  }
}

void Labels::set(std::uint64_t at, std::uint64_t bytes, const Label& label) {
  if (bytes == 0) return;
  erase(at, bytes);
  const auto next = pieces_.lower_bound(at);
  if (next != pieces_.begin()) {
    const auto before = std::prev(next);
    Piece& there = before->second;
    const bool follows = there.end == at && there.label.operation == label.operation && there.label.hop == label.hop && there.label.inferred == label.inferred &&
                         there.label.address + (at - before->first) == label.address;
    if (follows) {
      there.end = at + bytes;
      return;
    }
  }
  pieces_.emplace_hint(next, at, Piece{at + bytes, label});
}

void Labels::find(std::uint64_t at, std::uint64_t bytes, std::vector<Labelled>& found, std::uint64_t counted_from) const {
  auto one = pieces_.upper_bound(at);
  if (one != pieces_.begin() && std::prev(one)->second.end > at) --one;
  for (; one != pieces_.end() && one->first < at + bytes; ++one) {
    const std::uint64_t begin = std::max(one->first, at);
    const std::uint64_t end = std::min(one->second.end, at + bytes);
    Label label = one->second.label;
    label.address += begin - one->first;
    found.push_back({counted_from + (begin - at), end - begin, label});
  }
}

}  // namespace reprise::flow
