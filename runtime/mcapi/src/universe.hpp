// The shared memory that the nodes of this process are in: made by the first node of a universe, and gone with the last.
#pragma once

#include <mutex>
#include <string>

#include "layout.hpp"

namespace mcapi {

// Null: none of this process's nodes is up.
extern std::atomic<Universe*> g_universe;
inline Universe& universe() { return *g_universe.load(std::memory_order_acquire); }

// One more node of this process uses it. False: it cannot be had.
bool enter_universe();
void leave_universe();
std::uint32_t own_process();

// For what is rare. It survives an owner that dies: whatever that was doing is repaired by bury().
class UniverseLock {
 public:
  UniverseLock();
  ~UniverseLock();
  UniverseLock(const UniverseLock&) = delete;
  UniverseLock& operator=(const UniverseLock&) = delete;
};

// Milliseconds of a clock that never goes back.
std::int64_t now();

// Ends what belonged to processes that are no more. By whoever waits, now and then.
void look_for_dead();
void look_for_dead_now();
// Under the lock. The node is gone, with or without having said so.
void bury(std::uint32_t node);
void remove_endpoint(std::uint32_t index);

// -- bells --

void ring(std::uint32_t node);
void ring_all();
// Waits until it has rung since `heard` was read, or for so many milliseconds.
void await_bell(std::uint32_t node, std::uint32_t heard, std::int64_t milliseconds);

// A send of that node waits for room, or does not any more. Where somebody makes room, all bells ring then.
void wants_room(std::uint32_t node);
void has_room(std::uint32_t node);
inline void made_room() {
  if (universe().wants_room.load(std::memory_order_seq_cst) > 0) ring_all();
}

// -- blocks --

// Kept by this process. kNoBlock: there is no room.
std::uint32_t take_block(std::size_t size);
void give_block(std::uint32_t number);
Block& block(std::uint32_t number);
inline unsigned char* bytes_of(Block& block) { return reinterpret_cast<unsigned char*>(&block + 1); }
// The block whose bytes these are. kNoBlock: they are none's.
std::uint32_t block_with(const void* bytes);

}  // namespace mcapi
