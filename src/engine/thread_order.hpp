// The order in which the threads of a process pass its synchronisation objects.
//
// Every passage (a lock taken, a semaphore posted, an MPI operation posted) is a *turn*; a thread counts its own turns.
// What is recorded of a turn is the turn before it on the same object, if another thread had that one: "after turn 17
// of thread 3". In a replay a thread waits until that has happened, and then passes. So threads that do not meet do not
// wait for each other, a thread that uses a lock alone writes nothing, and objects need no identity: neither their
// addresses, which differ between runs, nor the memory of one object that becomes another's.
//
// Objects are told apart by a hash of their address. If two share a place in the table, a turn may be recorded as coming
// after one that it did not depend on. That is harmless: it did come after it.
#pragma once

#include <atomic>
#include <cstdint>

namespace reprise::engine {

inline constexpr std::uint32_t kMaxThreads = 1u << 16;

struct Turn {
  std::uint32_t thread = 0;
  std::uint64_t number = 0;  // counted from 1; 0: none
};

// What a thread knows of turns, its own and others'. Used by that thread alone.
class ThreadTurns {
 public:
  void begin(std::uint32_t thread) { thread_ = thread; }
  std::uint32_t thread() const { return thread_; }
  std::uint64_t count() const { return count_; }

  // Recording: a turn of this thread on `object`. The turn that it comes after; none if that is known already.
  Turn take(const void* object);

  // Replaying: this thread has taken so many turns.
  std::uint64_t next() { return ++count_; }

 private:
  static constexpr std::size_t kKnown = 64;

  std::uint32_t thread_ = 0;
  std::uint64_t count_ = 0;
  Turn known_[kKnown];  // of other threads, the last turn that this one is known to come after
};

// Replaying: turns that have been taken. Waiting costs no processor time after a moment.
void turn_is_over(std::uint32_t thread, std::uint64_t number);
void await_turn(const Turn& turn);
// The same, but not any longer if no thread has taken a turn for some time.
void await_turn_if_possible(const Turn& turn);

// For everybody's calls of MPI, which are ordered among each other.
extern const char kMpiOrder;
// For those that make communicators.
extern const char kNumberOrder;

}  // namespace reprise::engine
