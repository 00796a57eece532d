#include "frontends/mcapi/arrivals.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "frontends/mcapi/call.hpp"

namespace reprise::mcapi {
namespace {

// Shared by all nodes: how many have come. The command has made the file, one for the recording and one for each replay.
std::atomic<std::int64_t>* counter() {
  static std::atomic<std::int64_t>* const found = []() -> std::atomic<std::int64_t>* {
    const std::string& path = Session::get().configuration().arrivals;
    if (path.empty()) return nullptr;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory = mmap(nullptr, sizeof(std::int64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<std::atomic<std::int64_t>*>(memory);
  }();
  return found;
}

}  // namespace

bool orders_arrivals() { return counter() != nullptr; }

std::int64_t next_arrival() { return counter()->fetch_add(1, std::memory_order_acq_rel) + 1; }

// A node that was killed may have taken a number that is in no log. Then nobody comes for a while, and those who wait go on.
void await_arrival(std::int64_t number) {
  constexpr int kSpins = 2000;
  constexpr int kMilliseconds = 2000;
  std::atomic<std::int64_t>& come = *counter();
  std::int64_t last = -1;
  for (int spins = 0, still = 0;; ++spins) {
    std::int64_t now = come.load(std::memory_order_acquire);
    if (now >= number - 1) break;
    if (spins < kSpins) {
      sched_yield();
      continue;
    }
    still = now == last ? still + 1 : 0;
    last = now;
    if (still > kMilliseconds) break;
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
  std::int64_t now = come.load(std::memory_order_relaxed);
  while (now < number && !come.compare_exchange_weak(now, number, std::memory_order_acq_rel)) {
  }
}

}  // namespace reprise::mcapi
