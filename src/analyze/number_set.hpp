// Numbers as a user names them: "7", "0,3-5", "100-" (and all above), "-200" (and all below).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace reprise::analyze {

class NumberSet {
 public:
  struct Range {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;  // included; UINT64_MAX: no end was named
  };

  static Result<NumberSet> parse(std::string_view text);

  bool contains(std::uint64_t number) const {
    for (const Range& range : ranges_)
      if (number >= range.first && number <= range.last) return true;
    return false;
  }
  bool empty() const { return ranges_.empty(); }
  std::uint64_t largest() const;  // 0 when empty
  void add(Range range) { ranges_.push_back(range); }
  const std::vector<Range>& ranges() const { return ranges_; }

 private:
  std::vector<Range> ranges_;
};

}  // namespace reprise::analyze
