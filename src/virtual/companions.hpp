// Ranks that are replayed side by side, each from its own values.
//
// They do not talk to each other, but they keep to the order that their messages gave them: what one receives, the
// other has sent before; a collective ends for a rank after those whose data it brings have begun it. (The order is
// Lamport's "happened before", in its smallest form. MCAPI's data-replay, DR-MCAPI section 3.2, has no such order.)
//
// For that they count in a file that all have mapped: messages per channel, collectives per communicator and member. A
// number that is not reached yet is waited for. Which message of a channel a receive gets follows from the rule that
// messages do not overtake (MPI 4.0, 3.5): the n-th receive that was posted for it gets the n-th message.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"

namespace reprise::virtual_world {

// All messages of one tag from one rank to another, in one communicator. Ranks are those of the world.
struct Channel {
  std::uint64_t communicator = 0;
  int from = 0;
  int to = 0;
  int tag = 0;
};

// One counter of the file. A key of 0 is free.
struct SharedCounter {
  std::atomic<std::uint64_t> key;
  std::atomic<std::uint32_t> value;
  std::atomic<std::uint32_t> waiting;
};
inline constexpr std::size_t kSharedCounters = std::size_t{1} << 22;  // of which only those in use take memory
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

class Companions {
 public:
  // `file`: of kSharedCounters zeroed counters. `ranks`: those that are replayed together.
  static Result<Companions*> join(const char* file, std::vector<int> ranks);
  ~Companions();
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;

  bool has(int rank) const;

  // -- messages --
  void sends(const Channel& channel);
  // A receive for this channel is posted: which of its messages it gets.
  std::uint32_t posts(const Channel& channel);
  // Which one is the first that no receive has been posted for: a probe sees that one.
  std::uint32_t next(const Channel& channel);
  // It is there: waits until it was sent.
  void receives(const Channel& channel, std::uint32_t number);

  // -- collectives --
  // This rank begins the next collective of the communicator: which one that is.
  std::uint32_t enters(std::uint64_t communicator, int self);
  void awaits(std::uint64_t communicator, int member, std::uint32_t number);

 private:
  Companions(SharedCounter* counters, std::vector<int> ranks);
  SharedCounter* find(std::uint64_t key);
  void count(std::uint64_t key);
  void await(std::uint64_t key, std::uint32_t number);

  SharedCounter* counters_;
  std::vector<int> ranks_;  // ascending
  std::atomic_flag lock_;   // threads of this rank
  std::unordered_map<std::uint64_t, std::uint32_t> posted_;
  std::unordered_map<std::uint64_t, std::uint32_t> entered_;
};

}  // namespace reprise::virtual_world
