// The modules of a program that was compiled with `reprise cc`: what their hooks pass on, and to whom (runtime/access/access.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "access.h"

namespace reprise::frontends {

// Loads that modules count by themselves. Only where there is one thread.
extern reprise_loads g_loads;
// They do so for loads of memory from `begin` on, if what is `others` bytes behind it is the same. None if the span is 0.
void count_quickly(std::uintptr_t begin, std::uintptr_t span, std::uintptr_t others);

// From now on each thread counts its own, and none quickly.
void has_more_threads();

struct AccessFollower {
  void (*load)(const void* address, std::size_t size) = nullptr;
  void (*store)(void* address, std::size_t size) = nullptr;
  void (*atomic)(void* address, reprise_atomic* one) = nullptr;
};

// Is any module of the program compiled so?
bool has_hooks();
// From now on, whoever is loaded. Accesses below `end` and not below `begin` are passed on; none if the two are the same.
void follow_accesses(const AccessFollower& follower, std::uintptr_t begin, std::uintptr_t end);
// Every access is passed on, wherever it goes, until the other is called: a store waits for the next hook.
void pass_all_accesses();
void pass_followed_accesses();

}  // namespace reprise::frontends
