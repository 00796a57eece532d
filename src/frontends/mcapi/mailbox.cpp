#include "frontends/mcapi/mailbox.hpp"

#include <algorithm>

#include "base/futex.hpp"
#include "base/spin.hpp"

namespace reprise::mcapi {

bool WantedMessage::is(const std::optional<Origin>& origin, const unsigned char* bytes, std::size_t size) const {
  if (!(lane == kByDigest)) return origin && origin->lane == lane && (number == 0 || origin->number == number);
  const std::size_t seen = seen_of(size, room);
  return (!origin || size > seen) && digest_of(bytes, seen) == digest;  // a trailer that was seen would have been logged
}

std::optional<Mailbox::Bytes> Mailbox::take(const WantedMessage& wanted) {
  const Spin spin(&lock_);
  const bool by_digest = wanted.lane == kByDigest;
  for (Queue& queue : queues_) {
    if (!by_digest && !(queue.lane && *queue.lane == wanted.lane)) continue;
    const auto found = std::find_if(queue.messages.begin(), queue.messages.end(),
                                    [&](const auto& one) { return wanted.is(one.first, one.second.data(), one.second.size()); });
    if (found == queue.messages.end()) continue;
    std::optional<Bytes> bytes(std::move(found->second));
    queue.messages.erase(found);
    return bytes;
  }
  return std::nullopt;
}

bool Mailbox::begin_to_receive() {
  const Spin spin(&lock_);
  return !std::exchange(receiving_, true);
}

void Mailbox::keep(const std::optional<Origin>& origin, const unsigned char* bytes, std::size_t size) {
  const Spin spin(&lock_);
  const auto lane = origin ? std::optional(origin->lane) : std::nullopt;
  const auto same = [&](const Queue& queue) { return queue.lane.has_value() == lane.has_value() && (!lane || *queue.lane == *lane); };
  auto found = std::find_if(queues_.begin(), queues_.end(), same);
  if (found == queues_.end()) found = queues_.insert(queues_.end(), Queue{lane, {}});
  found->messages.emplace_back(origin, Bytes(bytes, bytes + size));
}

void Mailbox::end_to_receive() {
  {
    const Spin spin(&lock_);
    receiving_ = false;
  }
  changes_.fetch_add(1, std::memory_order_seq_cst);
  if (waiting_.load(std::memory_order_seq_cst) > 0) futex_wake(changes_);
}

void Mailbox::wait(std::uint32_t changes) {
  constexpr timespec kNap{0, 50000000};
  waiting_.fetch_add(1, std::memory_order_seq_cst);
  futex_wait(changes_, changes, &kNap);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace reprise::mcapi
