// A deadlock among the threads of a rank, as the rank reported it (frontends/threads/deadlocks.hpp says how).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/source_lines.hpp"

namespace reprise::analyze {

struct ThreadDeadlock {
  struct Lock {
    char name = 'A';
    std::string at;  // where it was taken
  };
  struct Signal {
    std::uint32_t thread = 0;
    bool before = false;  // before the wait began: it was lost
    std::string at;
  };
  struct Thread {
    std::uint32_t number = 0;  // 0: the one that runs main
    std::string function;
    std::string address;                     // of that, only to tell it from others
    char object = 'A';                       // locks and conditions; of no use if it waits for a thread's end
    std::optional<std::uint32_t> waits_for;  // who holds the lock, or must end
    std::string at;
    std::vector<Lock> holds;
    std::optional<Signal> signal;  // the last one of the condition
  };

  std::uint32_t rank = 0;
  std::uint64_t threads = 0;  // of the rank, at that time
  bool ended = false;         // none could go on, and the rank was ended
  std::vector<Thread> stuck;

  bool waits_for_condition() const;
};

struct DeadlockNote {
  std::uint32_t rank = 0;
  std::string text;
};

// Notes of several ranks may be mixed; each rank's are in order. What makes no sense is left out.
std::vector<ThreadDeadlock> read_deadlocks(const std::vector<DeadlockNote>& notes, SourceLines& lines);

}  // namespace reprise::analyze
