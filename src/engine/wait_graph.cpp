#include "engine/wait_graph.hpp"

#include <algorithm>

namespace reprise::engine {

std::vector<std::size_t> stuck_threads(std::span<const WaitingThread> threads) {
  using For = WaitingThread::For;
  std::vector<bool> stuck(threads.size());
  for (std::size_t i = 0; i < threads.size(); ++i) stuck[i] = threads[i].waits_for != For::Nobody;
  const auto is_stuck = [&](std::uint32_t thread) {
    const auto at = std::find_if(threads.begin(), threads.end(), [&](const auto& one) { return one.thread == thread; });
    return at != threads.end() && stuck[static_cast<std::size_t>(at - threads.begin())];
  };
  // Who can go on frees others. Each round frees somebody, or is the last.
  for (bool changed = true; changed;) {
    changed = false;
    const bool all = std::find(stuck.begin(), stuck.end(), false) == stuck.end();
    for (std::size_t i = 0; i < threads.size(); ++i) {
      if (!stuck[i]) continue;
      const bool helpless = threads[i].waits_for == For::Anybody ? all : is_stuck(threads[i].other);
      if (helpless) continue;
      stuck[i] = false;
      changed = true;
    }
  }
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (stuck[i]) result.push_back(i);
  return result;
}

}  // namespace reprise::engine
