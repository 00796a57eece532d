#include "flow/related.hpp"

#include <bit>

namespace reprise::flow {
namespace {

constexpr std::uint32_t kAny = UINT32_MAX;

}  // namespace

// The closest one first.
std::vector<RelatedDeliveries::Likeness> RelatedDeliveries::likenesses(const Delivery& delivery, const LoggedShape& giver,
                                                                       const LoggedShape& taker, std::uint64_t bytes) {
  const bool one = giver.gives[delivery.given].type->flat.solid;
  const bool other = taker.takes[delivery.taken].type->flat.solid;
  const std::uint64_t about = UINT64_MAX - std::bit_width(bytes);
  return {{delivery.from, delivery.to, bytes, one, other},
          {delivery.from, delivery.to, about, one, other},
          {kAny, kAny, bytes, one, other},
          {kAny, kAny, about, one, other}};
}

void RelatedDeliveries::arrived(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker, std::uint64_t bytes) {
  same_calls_[{&giver, &taker, delivery.taken}] = delivery;
  for (const Likeness& likeness : likenesses(delivery, giver, taker, bytes)) alike_[likeness] = delivery;
}

std::optional<Delivery> RelatedDeliveries::like(const Delivery& delivery, const LoggedShape& giver, const LoggedShape& taker,
                                                std::uint64_t bytes) const {
  if (const auto found = same_calls_.find({&giver, &taker, delivery.taken}); found != same_calls_.end()) return found->second;
  for (const Likeness& likeness : likenesses(delivery, giver, taker, bytes))
    if (const auto found = alike_.find(likeness); found != alike_.end()) return found->second;
  return std::nullopt;
}

}  // namespace reprise::flow
