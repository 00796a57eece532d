// The functions that stand behind ours, and who wants to hear of them.
#pragma once

#include <atomic>
#include <cerrno>

#include "frontends/movements/hooks.hpp"
#include "frontends/sys/next.hpp"

// UCX puts its own functions in place of some of these by writing a jump over their first instructions: so none is shorter
// than that, and what it asks for then comes by syscall().
#define REPRISE_EXPORTED extern "C" __attribute__((visibility("default"), aligned(64)))
#define REPRISE_CALLER __builtin_return_address(0)

namespace reprise::movements {

inline constinit Active g_active{0};
inline constinit std::atomic<const Hooks*> g_hooks{nullptr};

// Null while nobody wants to know. Programs rely on functions that leave errno alone, so whoever is told must not change it.
inline const Hooks* listener() {
  return g_active.load(std::memory_order_relaxed) == 0 ? nullptr : g_hooks.load(std::memory_order_acquire);
}

class KeptErrno {
 public:
  KeptErrno() : error_(errno) {}
  ~KeptErrno() { errno = error_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int error_;
};

using sys::Next;

}  // namespace reprise::movements
