// The guard of a static object of a C++ function, as the C++ library keeps it: an int, of which byte 0 says that the
// object is initialised and byte 1 that somebody is at it (Itanium C++ ABI, 3.3.2). The library's own function may not
// be at hand.
#pragma once

#include <sched.h>

#include <atomic>
#include <bit>

namespace reprise {

static_assert(std::endian::native == std::endian::little);

inline constexpr int kGuardDone = 1;
inline constexpr int kGuardPending = 1 << 8;

// True: the caller initialises the object and then calls __cxa_guard_release, which stores kGuardDone. Both bytes are
// tested at once: the object may become initialised between two looks.
inline bool acquire_guard(int& guard) {
  std::atomic_ref<int> word(guard);
  for (;;) {
    int seen = 0;
    if (word.compare_exchange_strong(seen, kGuardPending, std::memory_order_acquire)) return true;
    if (seen & kGuardDone) return false;
    sched_yield();
  }
}

}  // namespace reprise
