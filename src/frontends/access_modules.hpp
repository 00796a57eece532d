// The modules of a program that was compiled with `reprise cc`: what their hooks pass on, and to whom (runtime/access/access.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "access.h"

namespace reprise::frontends {

// What modules count by themselves, and stores that wait. Only where there is one thread.
extern reprise_state g_state;
// Memory in which they do so: see access.h. None if the span is 0.
struct QuickMemory {
  std::uintptr_t begin = 0;
  std::uintptr_t span = 0;
  std::uintptr_t others = 0;
  std::uintptr_t agreed = 0;
  reprise_quick_stores stores = REPRISE_STORES_ARE_PASSED_ON;
  bool operator==(const QuickMemory&) const = default;
};
void be_quick_in(const QuickMemory& memory);
// From now on nowhere, and each thread counts its own.
void has_more_threads();
bool is_threaded();

struct AccessFollower {
  void (*load)(const void* address, std::size_t size) = nullptr;
  void (*store)(void* address, std::size_t size) = nullptr;
  void (*atomic)(void* address, reprise_atomic* one) = nullptr;
  void (*publish)() = nullptr;  // the store that waits
};

// Is any module of the program compiled so?
bool has_hooks();
// From now on, whoever is loaded. Accesses below `end` and not below `begin` are passed on; none if the two are the same.
void follow_accesses(const AccessFollower& follower, std::uintptr_t begin, std::uintptr_t end);
// Every access is passed on, wherever it goes, until the other is called: a store waits for the next hook.
void pass_all_accesses();
void pass_followed_accesses();

}  // namespace reprise::frontends
