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
  // Of collectives: the last ones of about this size, from any rank, that were taken by this rank, and by a few others.
  std::vector<Delivery> taken_by(std::uint32_t rank, std::uint64_t bytes) const;

 private:
  using Calls = std::tuple<const LoggedShape*, const LoggedShape*, std::size_t, bool>;
  // Ranks, or the highest number where any will do; bytes, or the digits of their number; whether they lie in one piece.
  using Likeness = std::tuple<std::uint32_t, std::uint32_t, std::uint64_t, bool, bool, bool>;
  static std::vector<Likeness> likenesses(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes, bool early);

  std::map<Calls, std::deque<Delivery>> same_calls_;
  std::map<Likeness, std::deque<Delivery>> alike_;
  std::map<std::uint64_t, std::map<std::uint32_t, std::deque<Delivery>>> taken_;  // by the digits of the number of bytes, and rank
};

}  // namespace reprise::flow
