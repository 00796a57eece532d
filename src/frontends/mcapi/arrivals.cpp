#include "frontends/mcapi/arrivals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

#include "base/futex.hpp"
#include "engine/arrival_counter.hpp"
#include "frontends/mcapi/call.hpp"

namespace reprise::mcapi {
namespace {

using Counter = engine::ArrivalCounter;

// The command has made the file, one for the recording and one for each replay.
Counter* counter() {
  static Counter* const found = []() -> Counter* {
    const std::string& path = Session::get().configuration().arrivals;
    if (path.empty()) return nullptr;
    const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return nullptr;
    void* const memory = mmap(nullptr, sizeof(Counter), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Counter*>(memory);
  }();
  return found;
}

// For who wants to see the order: a line for each, while the next one still waits.
void write_down(std::int64_t number) {
  static const int file = [] {
    const std::string& path = Session::get().configuration().arrivals_seen;
    return path.empty() ? -1 : open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  }();
  if (file < 0) return;
  mcapi_status_t status;
  char line[64];
  const int size = std::snprintf(line, sizeof line, "%lld node %u\n", static_cast<long long>(number), runtime(Function::node_id_get, &mcapi_node_id_get)(&status));
  if (write(file, line, static_cast<std::size_t>(size)) != size) return;  // it is only missed there
}

void has_come(Counter& all, std::int64_t number) {
  write_down(number);
  std::int64_t now = all.come.load(std::memory_order_relaxed);
  while (now < number && !all.come.compare_exchange_weak(now, number, std::memory_order_acq_rel)) {
  }
  Counter::Place& next = all.place_of(number + 1);
  next.changes.fetch_add(1, std::memory_order_seq_cst);
  if (next.waiting.load(std::memory_order_seq_cst) > 0) futex_wake(next.changes);
}

}  // namespace

bool orders_arrivals() { return counter() != nullptr; }

std::int64_t next_arrival() { return counter()->come.fetch_add(1, std::memory_order_acq_rel) + 1; }

// A node that was killed may have taken a number that is in no log. Then nobody comes for a while, and those who wait go on.
void await_arrival(std::int64_t number) {
  constexpr int kNaps = 40;
  constexpr timespec kNap{0, 50000000};
  Counter& all = *counter();
  Counter::Place& own = all.place_of(number);
  std::int64_t last = -1;
  for (int still = 0; still < kNaps;) {
    const std::uint32_t changes = own.changes.load(std::memory_order_seq_cst);
    const std::int64_t now = all.come.load(std::memory_order_acquire);
    if (now >= number - 1) break;
    still = now == last ? still + 1 : 0;
    last = now;
    own.waiting.fetch_add(1, std::memory_order_seq_cst);
    futex_wait(own.changes, changes, &kNap);
    own.waiting.fetch_sub(1, std::memory_order_relaxed);
  }
  has_come(all, number);
}

}  // namespace reprise::mcapi
