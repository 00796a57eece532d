// What a thread waits for, and which locks it took last: for the thread that looks for deadlocks
// (frontends/threads/deadlocks.hpp), which reads it at any time.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace reprise::engine {

class ThreadWait {
 public:
  struct Facts {
    std::uint32_t function = 0;
    std::uint64_t object = 0;  // an address, or the handle of a thread
    std::uint64_t caller = 0;
    std::uint64_t mark = 0;  // what the front end wants to know again
  };

  // The facts are stored with release: whoever sees one of them sees that the wait before it is over, and does not
  // take them for those of that wait.
  void begin(const Facts& facts) {
    end();
    function_.store(facts.function, std::memory_order_release);
    object_.store(facts.object, std::memory_order_release);
    caller_.store(facts.caller, std::memory_order_release);
    mark_.store(facts.mark, std::memory_order_release);
    sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }
  void end() {
    if (is_waiting()) sequence_.store(sequence_.load(std::memory_order_relaxed) + 1, std::memory_order_seq_cst);
  }

  // Odd while the thread waits. Every wait has its own number.
  std::uint64_t sequence() const { return sequence_.load(std::memory_order_seq_cst); }
  // Only to be believed if sequence() was odd before, and is the same afterwards.
  Facts facts() const {
    return {function_.load(std::memory_order_acquire), object_.load(std::memory_order_acquire),
            caller_.load(std::memory_order_acquire), mark_.load(std::memory_order_acquire)};
  }

 private:
  bool is_waiting() const { return sequence_.load(std::memory_order_relaxed) % 2 == 1; }

  std::atomic<std::uint64_t> sequence_{0};
  std::atomic<std::uint32_t> function_{0};
  std::atomic<std::uint64_t> object_{0}, caller_{0}, mark_{0};
};

// The last locks that a thread has taken, and where. What it holds is known from the locks themselves.
class TakenLocks {
 public:
  static constexpr std::size_t kKept = 64;
  struct Taken {
    std::uint64_t lock = 0;
    std::uint64_t caller = 0;
  };
  using List = std::array<Taken, kKept>;

  void took(const void* lock, const void* caller) {
    const std::size_t count = count_.load(std::memory_order_relaxed);
    Entry& entry = entries_[count % kKept];
    entry.lock.store(reinterpret_cast<std::uint64_t>(lock), std::memory_order_relaxed);
    entry.caller.store(reinterpret_cast<std::uint64_t>(caller), std::memory_order_relaxed);
    count_.store(count + 1, std::memory_order_relaxed);
  }
  // The last one first. Of a thread that waits: nothing changes meanwhile.
  List newest_first() const {
    List list;
    const std::size_t count = count_.load(std::memory_order_relaxed);
    for (std::size_t i = 0; i < std::min(count, kKept); ++i) {
      const Entry& entry = entries_[(count - 1 - i) % kKept];
      list[i] = {entry.lock.load(std::memory_order_relaxed), entry.caller.load(std::memory_order_relaxed)};
    }
    return list;
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> lock{0}, caller{0};
  };
  Entry entries_[kKept];
  std::atomic<std::size_t> count_{0};
};

}  // namespace reprise::engine
