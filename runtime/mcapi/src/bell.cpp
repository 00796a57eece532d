// A node that waits sleeps until its bell rings.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

#include "universe.hpp"

namespace mcapi {
namespace {

long futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* time) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, time, nullptr, 0);
}

}  // namespace

void ring(std::uint32_t number) {
  Node& node = universe().nodes[number];
  node.bell.fetch_add(1, std::memory_order_seq_cst);
  if (node.waiting.load(std::memory_order_seq_cst) > 0) futex(node.bell, FUTEX_WAKE, INT_MAX, nullptr);
}

void ring_all() {
  const std::uint32_t used = universe().nodes_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i)
    if (universe().nodes[i].is_there.load(std::memory_order_acquire)) ring(i);
}

void await_bell(std::uint32_t number, std::uint32_t heard, std::int64_t milliseconds) {
  Node& node = universe().nodes[number];
  const timespec time{milliseconds / 1000, milliseconds % 1000 * 1000000};
  node.waiting.fetch_add(1, std::memory_order_seq_cst);
  futex(node.bell, FUTEX_WAIT, heard, &time);  // returns at once if it has rung since
  node.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void wants_room(std::uint32_t node) {
  universe().nodes[node].wants_room.fetch_add(1, std::memory_order_relaxed);
  universe().wants_room.fetch_add(1, std::memory_order_seq_cst);
}

void has_room(std::uint32_t node) {
  universe().nodes[node].wants_room.fetch_sub(1, std::memory_order_relaxed);
  universe().wants_room.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace mcapi
