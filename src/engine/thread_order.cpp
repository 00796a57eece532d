#include "engine/thread_order.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <utility>

namespace reprise::engine {
namespace {

constexpr unsigned kTableBits = 14;
constexpr unsigned kNumberBits = 48;

// The last turn on each object, as thread << 48 | number. In .bss: untouched pages cost nothing.
std::atomic<std::uint64_t> g_last[1u << kTableBits];

std::atomic<std::uint64_t>& last_turn_on(const void* object) {
  const auto address = reinterpret_cast<std::uint64_t>(object);
  return g_last[address * 0x9e3779b97f4a7c15ull >> (64 - kTableBits)];
}

// How far each thread has come. A cache line for each, in .bss, too.
struct alignas(64) Progress {
  std::atomic<std::uint64_t> turns;
  std::atomic<std::uint32_t> waiting;
  std::atomic<std::uint32_t> changed;  // what those who wait sleep on
};
Progress g_progress[kMaxThreads];
std::atomic<std::uint64_t> g_taken{0};  // turns, of all threads together

void sleep_on(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}

void wake_all(std::atomic<std::uint32_t>& word) {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace

const char kMpiOrder = 0;
const char kNumberOrder = 0;

Turn ThreadTurns::take(const void* object) {
  const std::uint64_t mine = static_cast<std::uint64_t>(thread_) << kNumberBits | ++count_;
  const std::uint64_t before = last_turn_on(object).exchange(mine, std::memory_order_acq_rel);
  const auto thread = static_cast<std::uint32_t>(before >> kNumberBits);
  const std::uint64_t number = before & ((1ull << kNumberBits) - 1);
  if (thread == thread_ || number == 0) return {};
  Turn& known = known_[thread % kKnown];
  if (known.thread == thread && known.number >= number) return {};
  known = {thread, number};
  return known;
}

void turn_is_over(std::uint32_t thread, std::uint64_t number) {
  Progress& mine = g_progress[thread % kMaxThreads];
  g_taken.fetch_add(1, std::memory_order_relaxed);
  mine.turns.store(number, std::memory_order_seq_cst);
  if (mine.waiting.load(std::memory_order_seq_cst) == 0) return;
  mine.changed.fetch_add(1, std::memory_order_release);
  wake_all(mine.changed);
}

void await_turn(const Turn& turn) {
  if (turn.number == 0) return;
  Progress& other = g_progress[turn.thread % kMaxThreads];
  const auto is_over = [&] { return other.turns.load(std::memory_order_acquire) >= turn.number; };
  for (int tries = 0; tries < 50; ++tries) {
    if (is_over()) return;
    if (tries >= 10) sched_yield();
  }
  other.waiting.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const std::uint32_t seen = other.changed.load(std::memory_order_acquire);
    if (other.turns.load(std::memory_order_seq_cst) >= turn.number) break;
    sleep_on(other.changed, seen);
  }
  other.waiting.fetch_sub(1, std::memory_order_relaxed);
}

void await_turn_if_possible(const Turn& turn) {
  constexpr int kMoments = 300;  // of a millisecond
  const Progress& other = g_progress[turn.thread % kMaxThreads];
  std::uint64_t taken = g_taken.load(std::memory_order_relaxed);
  for (int still = 0; still < kMoments && other.turns.load(std::memory_order_acquire) < turn.number; ++still) {
    const timespec moment{0, 1'000'000};
    nanosleep(&moment, nullptr);
    const std::uint64_t now = g_taken.load(std::memory_order_relaxed);
    if (std::exchange(taken, now) != now) still = 0;
  }
}

}  // namespace reprise::engine
