// A clock that all processes of a machine share and that never goes back, cheaper to read than a system call: for the
// order of what they do to memory that they share. What a thread does before it reads the clock is done when it reads it.
#pragma once

#include <cstdint>
#if !defined(__aarch64__) && !defined(__x86_64__)
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#endif

namespace reprise {

inline std::uint64_t machine_ticks() {
#if defined(__aarch64__)
  std::uint64_t ticks;
  asm volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
#elif defined(__x86_64__)
  std::uint32_t low, high;
  asm volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
  return std::uint64_t{high} << 32 | low;
#else
  timespec now{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
#endif
}

}  // namespace reprise
