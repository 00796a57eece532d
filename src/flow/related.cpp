#include "flow/related.hpp"

#include <bit>

namespace reprise::flow {
namespace {

constexpr std::uint32_t kAny = UINT32_MAX;
constexpr std::size_t kKept = 4;
constexpr std::size_t kKeptOfRank = 16;
constexpr std::size_t kOtherRanks = 7;

// The digits of a number of bytes, which is no number of bytes.
std::uint64_t about(std::uint64_t bytes) { return UINT64_MAX - static_cast<std::uint64_t>(std::bit_width(bytes)); }

}  // namespace

// The closest one first.
std::vector<RelatedDeliveries::Likeness> RelatedDeliveries::likenesses(const Delivery& delivery, const LoggedShape& giver,
                                                                       const LoggedShape& taker, std::uint64_t bytes, bool early) {
  const bool one = giver.gives[delivery.given].type->flat.solid;
  const bool other = taker.takes[delivery.taken].type->flat.solid;
  return {{delivery.from, delivery.to, bytes, one, other, early},
          {delivery.from, delivery.to, about(bytes), one, other, early},
          {kAny, kAny, bytes, one, other, early},
          {kAny, kAny, about(bytes), one, other, early}};
}

void RelatedDeliveries::arrived(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes, bool early) {
  const auto keep = [&](std::deque<Delivery>& known, std::size_t most = kKept) {
    known.push_back(delivery);
    if (known.size() > most) known.pop_front();
  };
  keep(same_calls_[{&giver, &taker, delivery.taken, early}]);
  for (const Likeness& likeness : likenesses(delivery, giver, taker, bytes, early)) keep(alike_[likeness]);
  if (taker.form == trace::IntentionForm::Collective) keep(taken_[about(bytes)][delivery.to], kKeptOfRank);
}

std::vector<Delivery> RelatedDeliveries::taken_by(std::uint32_t rank, std::uint64_t bytes) const {
  std::vector<Delivery> all;
  const auto found = taken_.find(about(bytes));
  if (found == taken_.end()) return all;
  std::size_t others = 0;
  for (const auto& [one, taken] : found->second)
    if (one == rank || others++ < kOtherRanks) all.insert(all.end(), taken.begin(), taken.end());
  return all;
}

std::vector<Delivery> RelatedDeliveries::like(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker,
                                              std::uint64_t bytes) const {
  std::vector<Delivery> all;
  for (const bool early : {true, false}) {
    const std::size_t before = all.size();
    if (const auto found = same_calls_.find({&giver, &taker, delivery.taken, early}); found != same_calls_.end())
      all.insert(all.end(), found->second.begin(), found->second.end());
    for (const Likeness& likeness : likenesses(delivery, giver, taker, bytes, early)) {
      if (all.size() > before) break;
      if (const auto found = alike_.find(likeness); found != alike_.end()) all.insert(all.end(), found->second.begin(), found->second.end());
    }
  }
  return all;
}

}  // namespace reprise::flow
