// Who initialises a static object of a C++ function (Itanium C++ ABI, 3.3.2).
//
// Compiled code asks only while the object is not initialised yet, and whether it still finds it so is a matter of
// time. So only the thread that did it says so in its log. In a replay everybody else who asks waits until it is done.
#include <sched.h>

#include <atomic>
#include <cstdint>

#include "base/static_guard.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;

namespace {

using Byte = std::uint8_t;

// Where this library lies, by the linker.
extern "C" const Byte __ehdr_start[] __attribute__((visibility("hidden")));
extern "C" const Byte _end[] __attribute__((visibility("hidden")));
bool is_our_own(const Byte* guard) { return guard >= __ehdr_start && guard < _end; }

constinit Next<int(Byte*)> g_acquire{"__cxa_guard_acquire"};

bool is_done(Byte* guard) { return std::atomic_ref(guard[0]).load(std::memory_order_acquire) != 0; }

// This library's own objects are also made in programs that are not C++, and in the midst of malloc, where nothing can
// be looked up.
int acquire_really(Byte* guard) {
  return !is_our_own(guard) && g_acquire.find() ? g_acquire(guard)
                                                : reprise::acquire_guard(*reinterpret_cast<int*>(guard));
}

}  // namespace

void reprise::threads::find_guards() { g_acquire.find(); }

extern "C" {

int reprise_guard_acquire(Byte*) REPRISE_INTERPOSES("__cxa_guard_acquire");
int reprise_guard_acquire(Byte* guard) {
  const void* const caller = REPRISE_RETURN_ADDRESS;
  if (!reprise::engine::has_threads()) return acquire_really(guard);
  if (Sync::follows(caller) && !Sync::comes_next(Function::StaticInit, caller)) {
    while (!is_done(guard)) sched_yield();
    return 0;
  }
  const int mine = acquire_really(guard);
  if (!mine) return 0;
  Sync sync(Function::StaticInit, caller);
  if (sync.recording()) sync.passed(0);
  return mine;
}

}  // extern "C"
