// The mode of this process, readable on every call without a lock, and the two verbs that every interposed call needs.
// All else about the session is in engine/session.hpp; this header is small because each wrapper includes it.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "engine/call_model.hpp"

namespace reprise::engine {

enum class Mode : std::uint8_t {
  Passive,  // nothing to do here: not under Reprise, a forked child, after the end, or recording is impossible
  Armed,    // told to record or replay, but nothing has happened yet
  Over,     // a virtual rank after MPI_Finalize
  Record,
  Replay,
  Doctor,   // only count calls and say that this rank was seen
  Explore,  // a virtual rank: nothing is logged, an explorer decides
};

using FunctionId = std::uint16_t;

inline std::atomic<Mode> g_mode{Mode::Passive};
inline Mode mode() { return g_mode.load(std::memory_order_relaxed); }

// The thread that runs main(). Set when the session is made, which is before main().
inline pthread_t g_main_thread{};
inline bool on_main_thread() { return pthread_equal(pthread_self(), g_main_thread) != 0; }

// A call. In replay it does not return if the log ends here or differs.
void log_call(FunctionId function, const void* caller, const Arguments& arguments);
void log_return();

}  // namespace reprise::engine
