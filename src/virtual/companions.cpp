#include "virtual/companions.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/futex.hpp"
#include "base/spin.hpp"

namespace reprise::virtual_world {
namespace {

constexpr int kSpins = 64;  // before a waiting rank goes to sleep

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t key_of(const Channel& channel) {
  std::uint64_t key = mixed(channel.communicator + 1);
  key = mixed(key ^ static_cast<std::uint32_t>(channel.from)) + 1;
  key = mixed(key ^ static_cast<std::uint32_t>(channel.to)) + 1;
  key = mixed(key ^ static_cast<std::uint32_t>(channel.tag));
  return std::max<std::uint64_t>(key, 1);
}

std::uint64_t key_of(std::uint64_t communicator, int member) {
  return std::max<std::uint64_t>(mixed(mixed(communicator + 2) ^ static_cast<std::uint32_t>(member)), 1);
}

}  // namespace

Companions::Companions(SharedCounter* counters, std::vector<int> ranks)
    : counters_(counters), ranks_(std::move(ranks)) {
  std::sort(ranks_.begin(), ranks_.end());
}

Result<Companions*> Companions::join(const char* file, std::vector<int> ranks) {
  const int fd = open(file, O_RDWR | O_CLOEXEC);
  void* map = MAP_FAILED;
  if (fd >= 0) map = mmap(nullptr, kSharedCounters * sizeof(SharedCounter), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (map == MAP_FAILED) return Error{std::string("cannot keep the order of ranks: ") + std::strerror(error)};
  return new Companions(static_cast<SharedCounter*>(map), std::move(ranks));
}

Companions::~Companions() { munmap(counters_, kSharedCounters * sizeof(SharedCounter)); }

bool Companions::has(int rank) const { return std::binary_search(ranks_.begin(), ranks_.end(), rank); }

// Null if there is no room: such a channel has no order.
SharedCounter* Companions::find(std::uint64_t key) {
  for (std::size_t i = 0; i < kSharedCounters; ++i) {
    SharedCounter& counter = counters_[(key + i) % kSharedCounters];
    std::uint64_t there = counter.key.load(std::memory_order_acquire);
    if (there == key) return &counter;
    if (there != 0) continue;
    if (counter.key.compare_exchange_strong(there, key, std::memory_order_acq_rel) || there == key) return &counter;
  }
  return nullptr;
}

void Companions::count(std::uint64_t key) {
  SharedCounter* const counter = find(key);
  if (!counter) return;
  counter->value.fetch_add(1, std::memory_order_seq_cst);
  if (counter->waiting.load(std::memory_order_seq_cst) != 0) futex_wake(counter->value);
}

void Companions::await(std::uint64_t key, std::uint32_t number) {
  SharedCounter* const counter = find(key);
  if (!counter) return;
  for (int i = 0; i < kSpins; ++i) {
    if (counter->value.load(std::memory_order_acquire) >= number) return;
    sched_yield();
  }
  counter->waiting.fetch_add(1, std::memory_order_seq_cst);
  for (std::uint32_t now; (now = counter->value.load(std::memory_order_seq_cst)) < number;) {
    const timespec soon{1, 0};
    futex_wait(counter->value, now, &soon);
  }
  counter->waiting.fetch_sub(1, std::memory_order_seq_cst);
}

void Companions::sends(const Channel& channel) {
  if (has(channel.to)) count(key_of(channel));
}

std::uint32_t Companions::posts(const Channel& channel) {
  if (!has(channel.from)) return 0;
  const Spin spin(&lock_);
  return ++posted_[key_of(channel)];
}

std::uint32_t Companions::next(const Channel& channel) {
  const Spin spin(&lock_);
  const auto found = posted_.find(key_of(channel));
  return found == posted_.end() ? 1 : found->second + 1;
}

void Companions::receives(const Channel& channel, std::uint32_t number) {
  if (has(channel.from)) await(key_of(channel), number);
}

std::uint32_t Companions::enters(std::uint64_t communicator, int self) {
  std::uint32_t number = 0;
  {
    const Spin spin(&lock_);
    number = ++entered_[communicator];
  }
  count(key_of(communicator, self));
  return number;
}

void Companions::awaits(std::uint64_t communicator, int member, std::uint32_t number) {
  if (has(member)) await(key_of(communicator, member), number);
}

}  // namespace reprise::virtual_world
