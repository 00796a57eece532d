// What other ranks do to a piece of this one's memory, told by those who do it.
//
// In one-sided communication only the origin knows of an access (OPR, section 1). Ranks on one machine therefore tell the
// target, through memory that both have mapped: which bytes, and when the access is complete. So the target looks only at
// what somebody has touched, and knows who that was.
//
// It is a queue with many writers and one reader. If it is full, that is all it says: the reader looks at everything then. A
// writer may be interrupted while it writes, for as long as others need its processor; the reader takes what is behind that
// first, since it must know of everything that has been told.
#pragma once

#include <atomic>
#include <bitset>
#include <cstdint>
#include <memory>

#include "base/result.hpp"

namespace reprise::engine {

struct Touch {
  std::uint64_t begin = 0;  // in bytes from where the memory begins, or an address, as the two have agreed
  std::uint64_t size = 0;   // 0: all accesses of this origin up to this one are complete; or, if `begin` is not 0, when that fence has ended
  std::uint32_t origin = 0;
  std::uint32_t number = 0;  // counts the accesses of this origin, from 1
};

// In place of a number: a store of the program in memory that is shared. It is complete when its origin tells of anything else.
inline constexpr std::uint32_t kStore = 0;

class Touches {
 public:
  // The target makes the file, the others join it; afterwards its name is not needed any more.
  static Result<std::unique_ptr<Touches>> make(int dir_fd, const char* name);
  static Result<std::unique_ptr<Touches>> join(int dir_fd, const char* name);
  ~Touches();
  Touches(const Touches&) = delete;
  Touches& operator=(const Touches&) = delete;

  // False: there was no room, and the reader will know.
  bool add(const Touch& touch);
  void lose() { shared_->lost.store(1, std::memory_order_release); }

  // The reader: is there anything?
  bool any() const {
    return shared_->tail.load(std::memory_order_relaxed) != shared_->head.load(std::memory_order_relaxed) ||
           shared_->lost.load(std::memory_order_relaxed) != 0;
  }
  bool take(Touch& out);
  // Since this was asked last, something could not be told.
  bool take_lost() { return shared_->lost.exchange(0, std::memory_order_acquire) != 0; }

 private:
  struct Slot {
    // Whose turn it is: of the writer of the n-th entry if it is n, of its reader if it is n + 1. It counts from the place
    // of the slot, so that memory of zeros is an empty queue.
    std::atomic<std::uint64_t> turn;
    Touch touch;
  };
  static constexpr std::uint64_t kSlots = 8192;
  struct Shared {
    alignas(64) std::atomic<std::uint64_t> tail;
    alignas(64) std::atomic<std::uint64_t> head;
    std::atomic<std::uint32_t> lost;
    alignas(64) Slot slots[kSlots];
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

  static Result<std::unique_ptr<Touches>> map(int fd, const char* name);
  explicit Touches(Shared* shared) : shared_(shared) {}

  Shared* shared_;
  std::bitset<kSlots> taken_;  // the reader's: behind one that is still being written
};

}  // namespace reprise::engine
