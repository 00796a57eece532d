// The reads that are logged, as the trace names them.
#pragma once

#include <cstdint>

namespace reprise::sys {

enum class Function : std::uint16_t {
  ClockGettime,
  Gettimeofday,
  Time,
  TimespecGet,
  Clock,
  Times,
  Getrusage,
  Getrandom,
  Getentropy,
  Arc4random,
  Arc4randomBuf,
  Arc4randomUniform,
  RandomDevice,
  ReadDevice,
  Getpid,
  Getppid,
  Gettid,
};

inline constexpr const char* kFunctionNames[] = {
    "clock_gettime",      "gettimeofday",      "time",       "timespec_get", "clock",          "times",
    "getrusage",          "getrandom",         "getentropy", "arc4random",   "arc4random_buf", "arc4random_uniform",
    "std::random_device", "read(/dev/random)", "getpid",     "getppid",      "gettid",
};

}  // namespace reprise::sys
