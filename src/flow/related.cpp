#include "flow/related.hpp"

#include <bit>

namespace reprise::flow {
namespace {

constexpr std::uint32_t kAny = UINT32_MAX;
constexpr std::size_t kKept = 4;

}  // namespace

// The closest one first.
std::vector<RelatedDeliveries::Likeness> RelatedDeliveries::likenesses(const Delivery& delivery, const LoggedShape& giver,
                                                                       const LoggedShape& taker, std::uint64_t bytes, bool early) {
  const bool one = giver.gives[delivery.given].type->flat.solid;
  const bool other = taker.takes[delivery.taken].type->flat.solid;
  const std::uint64_t about = UINT64_MAX - std::bit_width(bytes);
  return {{delivery.from, delivery.to, bytes, one, other, early},
          {delivery.from, delivery.to, about, one, other, early},
          {kAny, kAny, bytes, one, other, early},
          {kAny, kAny, about, one, other, early}};
}

void RelatedDeliveries::arrived(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes, bool early) {
  const auto keep = [&](std::deque<Delivery>& known) {
    known.push_back(delivery);
    if (known.size() > kKept) known.pop_front();
  };
  keep(same_calls_[{&giver, &taker, delivery.taken, early}]);
  for (const Likeness& likeness : likenesses(delivery, giver, taker, bytes, early)) keep(alike_[likeness]);
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
