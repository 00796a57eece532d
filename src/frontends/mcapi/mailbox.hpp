// Replaying: what has come to an endpoint before it was wanted. Several threads of a node may want something there: one of them at a time
// receives, for all.
#pragma once

#include <mcapi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "frontends/mcapi/delivery.hpp"

namespace reprise::mcapi {

// What the log names.
struct WantedMessage {
  Lane lane;
  std::uint64_t digest = 0;  // if the lane is kByDigest
  std::uint64_t number = 0;  // if it is not the next one of its lane
  std::size_t room = 0;      // of the receive

  bool is(const std::optional<Origin>& origin, const unsigned char* bytes, std::size_t size) const;
};

class Mailbox {
 public:
  using Bytes = std::vector<unsigned char>;

  // It is here. Nothing: receive() or wait() for it.
  std::optional<Bytes> take(const WantedMessage& wanted);
  // True: the caller receives, and must say so when it has.
  bool begin_to_receive();
  // Something has come, perhaps for others.
  void keep(const std::optional<Origin>& origin, const unsigned char* bytes, std::size_t size);
  void end_to_receive();
  // Until something has come since `changes` was asked for, or some time has passed.
  std::uint32_t changes() const { return changes_.load(std::memory_order_acquire); }
  void wait(std::uint32_t changes);

 private:
  struct Queue {
    std::optional<Lane> lane;
    std::deque<std::pair<std::optional<Origin>, Bytes>> messages;
  };

  std::atomic_flag lock_;
  std::atomic<std::uint32_t> changes_{0};
  std::atomic<std::uint32_t> waiting_{0};
  bool receiving_ = false;
  std::vector<Queue> queues_;
};

}  // namespace reprise::mcapi
