// What is known of the runtime's handles: few of them, asked for in every call, made and forgotten all the time. Open addressing, so that
// nothing is allocated but when there are more of them than ever before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/spin.hpp"

namespace reprise::mcapi {

// What a thread has just asked a table for, so that many threads do not wait for each other there. Whoever changes or removes what others
// may remember raises the version.
template <class Value>
class Remembered {
 public:
  template <class Ask>
  Value get(std::uint64_t key, const std::atomic<std::uint32_t>& version, Ask ask) {
    const std::uint32_t now = version.load(std::memory_order_acquire);
    Slot& slot = slots_[(key ^ key >> 7) % kSlots];
    if (slot.key == key && slot.version == now) return slot.value;
    slot = {key, ask(), now};
    return slot.value;
  }

 private:
  static constexpr std::size_t kSlots = 16;
  struct Slot {
    std::uint64_t key = 0;  // none has that
    Value value{};
    std::uint32_t version = 0;
  };
  Slot slots_[kSlots];
};

// Keys are not 0.
template <class Value>
class HandleTable {
 public:
  void put(std::uint64_t key, const Value& value) {
    const Spin spin(&lock_);
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place_of(key)];
    if (slot.key == 0) ++used_;
    slot = {key, value};
  }

  std::optional<Value> get(std::uint64_t key) const {
    const Spin spin(&lock_);
    if (slots_.empty()) return std::nullopt;
    const Slot& slot = slots_[place_of(key)];
    return slot.key == 0 ? std::nullopt : std::optional<Value>(slot.value);
  }

  std::optional<Value> take(std::uint64_t key) {
    const Spin spin(&lock_);
    if (slots_.empty()) return std::nullopt;
    std::size_t hole = place_of(key);
    if (slots_[hole].key == 0) return std::nullopt;
    const Value value = slots_[hole].value;
    slots_[hole].key = 0;
    --used_;
    close(hole);
    return value;
  }

 private:
  struct Slot {
    std::uint64_t key = 0;
    Value value{};
  };

  std::size_t home_of(std::uint64_t key) const { return (key * 0x9e3779b97f4a7c15u >> 20) & (slots_.size() - 1); }
  std::size_t after(std::size_t at) const { return (at + 1) & (slots_.size() - 1); }

  // Where it is, or where it would be put.
  std::size_t place_of(std::uint64_t key) const {
    std::size_t at = home_of(key);
    while (slots_[at].key != 0 && slots_[at].key != key) at = after(at);
    return at;
  }

  // Those behind a hole that could not be found any more move into it.
  void close(std::size_t hole) {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t at = after(hole); slots_[at].key != 0; at = after(at)) {
      const bool stays = ((at - home_of(slots_[at].key)) & mask) < ((at - hole) & mask);
      if (stays) continue;
      slots_[hole] = slots_[at];
      slots_[at].key = 0;
      hole = at;
    }
  }

  void grow() {
    std::vector<Slot> old = std::exchange(slots_, {});
    slots_.resize(old.empty() ? 64 : 2 * old.size());
    for (const Slot& slot : old)
      if (slot.key != 0) slots_[place_of(slot.key)] = slot;
  }

  mutable std::atomic_flag lock_;
  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

}  // namespace reprise::mcapi
