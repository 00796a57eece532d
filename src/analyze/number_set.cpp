#include "analyze/number_set.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace reprise::analyze {

namespace {

std::optional<NumberSet::Range> parse_range(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto number = parse_number(text);
    if (!number) return std::nullopt;
    return NumberSet::Range{*number, *number};
  }
  NumberSet::Range range;
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = text.substr(dash + 1);
  if (first.empty() && last.empty()) return std::nullopt;
  if (!first.empty()) {
    const auto number = parse_number(first);
    if (!number) return std::nullopt;
    range.first = *number;
  }
  if (!last.empty()) {
    const auto number = parse_number(last);
    if (!number || *number < range.first) return std::nullopt;
    range.last = *number;
  }
  return range;
}

}  // namespace

Result<NumberSet> NumberSet::parse(std::string_view text) {
  NumberSet set;
  for (const std::string& part : split(text, ',')) {
    const auto range = parse_range(part);
    if (!range) return Error{"'" + printable(part) + "' is not a number or a range such as 3-5"};
    set.add(*range);
  }
  return set;
}

std::uint64_t NumberSet::largest() const {
  std::uint64_t largest = 0;
  for (const Range& range : ranges_) largest = std::max(largest, range.last);
  return largest;
}

}  // namespace reprise::analyze
