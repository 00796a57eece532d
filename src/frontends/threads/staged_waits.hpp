// In an explored rank whose threads all wait: for what, and for whom.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::threads {

struct StagedWait {
  std::uint32_t thread = 0;
  std::uint32_t function = 0;  // in the table of all functions
  const void* caller = nullptr;
  int holder = -1;             // a thread: it holds the lock, or is the one whose end is awaited
  std::uint64_t taken_at = 0;  // where it took the lock
};

// Threads that neither pause nor wait for the explorer.
std::vector<StagedWait> staged_waits();

}  // namespace reprise::threads
