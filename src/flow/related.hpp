// Bytes that arrived, to be compared with those that did not: of the same calls, if there are such; otherwise between the
// same ranks, or of about the same size.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "flow/tracker.hpp"

namespace reprise::flow {

class RelatedDeliveries {
 public:
  void arrived(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes);
  std::optional<Delivery> like(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes) const;

 private:
  using Calls = std::tuple<const LoggedShape*, const LoggedShape*, std::size_t>;
  // Ranks, or twice the highest number where any will do; bytes, or the digits of their number; whether they lie in one piece.
  using Likeness = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, bool, bool>;
  static std::vector<Likeness> likenesses(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes);

  std::map<Calls, Delivery> same_calls_;
  std::map<Likeness, Delivery> alike_;
};

}  // namespace reprise::flow
