// Bytes that arrived, to be compared with those that did not: of the same calls, if there are such; otherwise between the
// same ranks, or of about the same size.
#pragma once

#include <deque>
#include <map>
#include <tuple>

#include "flow/tracker.hpp"

namespace reprise::flow {

class RelatedDeliveries {
 public:
  // `early`: it was called for before it was sent. Libraries store messages that come too early.
  void arrived(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes, bool early);
  // The last few of the closest kind that there are, called for early and late.
  std::vector<Delivery> like(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes) const;

 private:
  using Calls = std::tuple<const LoggedShape*, const LoggedShape*, std::size_t, bool>;
  // Ranks, or the highest number where any will do; bytes, or the digits of their number; whether they lie in one piece.
  using Likeness = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, bool, bool, bool>;
  static std::vector<Likeness> likenesses(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes, bool early);

  std::map<Calls, std::deque<Delivery>> same_calls_;
  std::map<Likeness, std::deque<Delivery>> alike_;
};

}  // namespace reprise::flow
