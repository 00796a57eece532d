#include "flow/own_operations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>

#include "base/bytes.hpp"
#include "flow/leaves.hpp"

namespace reprise::flow {
namespace {

struct Real {
  long double value = 0;
  long double epsilon = 0;
};
template <class T>
Real load(const std::uint8_t* from) {
  T value;
  std::memcpy(static_cast<void*>(&value), from, sizeof value);
  return {static_cast<long double>(value), static_cast<long double>(std::numeric_limits<T>::epsilon())};
}
// Others have no epsilon, and must be equal.
Real real_at(const std::uint8_t* from, std::size_t size) {
  if (size == sizeof(float)) return load<float>(from);
  if (size == sizeof(double)) return load<double>(from);
  if (size == sizeof(long double)) return load<long double>(from);
  return {};
}

class Comparison {
 public:
  Comparison(const std::vector<Leaf>& leaves, std::size_t ranks) : leaves_(leaves), ranks_(static_cast<long double>(ranks)) {}

  // How large the numbers are that come together in an element; the error of what comes of them is measured by that.
  void begins() {
    largest_ = 0;
    strange_ = false;
  }
  void meets(const std::uint8_t* element) {
    for (const Leaf& leaf : leaves_) {
      if (!leaf.is_real) continue;
      const long double size = std::fabs(real_at(element + leaf.place, leaf.size).value);
      largest_ = std::max(largest_, size);
      strange_ |= !std::isfinite(size);  // what comes of these depends on the order
    }
  }
  // The first leaf in which they differ by more than rounding may do.
  const Leaf* difference(const std::uint8_t* one, const std::uint8_t* other) const {
    for (const Leaf& leaf : leaves_) {
      if (std::memcmp(one + leaf.place, other + leaf.place, leaf.size) == 0) continue;
      if (!leaf.is_real) return &leaf;
      if (strange_) continue;
      const Real a = real_at(one + leaf.place, leaf.size);
      const Real b = real_at(other + leaf.place, leaf.size);
      if (a.value == b.value && a.epsilon > 0) continue;
      const long double bound = kRoom * ranks_ * ranks_ * largest_ * a.epsilon;
      if (!(std::fabs(a.value - b.value) <= bound)) return &leaf;
    }
    return nullptr;
  }

 private:
  static constexpr long double kRoom = 64;  // the function may round several times itself
  const std::vector<Leaf>& leaves_;
  long double ranks_;
  long double largest_ = 0;
  bool strange_ = false;
};

std::string told(const Leaf& leaf, const std::uint8_t* expected, const std::uint8_t* found) {
  if (leaf.is_real)
    return fmt::format("is {}, should be {}", real_at(found + leaf.place, leaf.size).value, real_at(expected + leaf.place, leaf.size).value);
  return fmt::format("has other bytes than the operation makes, from byte {} on", leaf.place);
}

// The orders that were tried for so many ranks.
std::vector<std::span<const std::uint8_t>> ways_for(std::int64_t combined, std::span<const std::uint8_t> expected, std::uint64_t bytes) {
  ByteReader in(expected);
  while (in.left() > 0 && in.ok()) {
    const auto ranks = static_cast<std::int64_t>(in.varint());
    const std::uint64_t count = in.varint();
    std::vector<std::span<const std::uint8_t>> ways;
    for (std::uint64_t i = 0; i < count && in.ok(); ++i) ways.push_back(in.bytes(bytes));
    if (ranks == combined && in.ok()) return ways;
  }
  return {};
}

}  // namespace

ReductionCheck check_own_reduction(const LoggedShape& shape, const std::vector<const std::vector<std::uint8_t>*>& contributions,
                                   const std::vector<std::uint8_t>& expected, const std::vector<std::uint8_t>& result) {
  const std::size_t size = shape.element->flat.size;
  const std::uint64_t samples = trace::samples_of(shape.all);
  const auto ways = ways_for(shape.combines, expected, samples * size);
  const auto leaves = leaves_of(shape.element->tree);
  if (ways.empty() || !leaves) return {false, {}};
  for (const auto* one : contributions)
    if (one->size() != samples * size) return {false, {}};
  Comparison comparison(*leaves, contributions.size());
  ReductionCheck outcome;
  std::uint64_t number = 0;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t element = trace::sample(shape.all, i);
    if (element < shape.first || element >= shape.first + shape.count) continue;
    if ((number + 1) * size > result.size()) return {false, {}};
    const std::uint8_t* const found = result.data() + number++ * size;
    comparison.begins();
    for (const auto* one : contributions) comparison.meets(one->data() + i * size);
    for (const auto& way : ways) comparison.meets(way.data() + i * size);
    for (const auto& way : ways)
      if (comparison.difference(ways[0].data() + i * size, way.data() + i * size)) return {false, {}};
    const Leaf* const wrong = comparison.difference(ways[0].data() + i * size, found);
    if (wrong && outcome.words.empty())
      outcome.words = fmt::format("element {} of the result {}", element - shape.first, told(*wrong, ways[0].data() + i * size, found));
  }
  return outcome;
}

}  // namespace reprise::flow
