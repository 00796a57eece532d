// Who waits for whom among the threads of a process, and which of them can never go on.
//
// A thread that waits for a lock or for another thread's end waits for one certain thread. One that waits for a
// condition waits for anybody who might signal it. Stuck is the largest set of threads in which everybody waits for
// members only: nobody outside can help them, and nobody inside will (Holt's condition for AND and OR requests).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace reprise::engine {

struct WaitingThread {
  enum class For {
    Nobody,   // it runs, or waits for something that may come from elsewhere
    Thread,   // for `other`
    Anybody,  // for any other thread of the process
  };
  std::uint32_t thread = 0;
  For waits_for = For::Nobody;
  std::uint32_t other = 0;
};

// Their positions in `threads`, which must be all threads of the process that could help, in ascending order.
std::vector<std::size_t> stuck_threads(std::span<const WaitingThread> threads);

}  // namespace reprise::engine
