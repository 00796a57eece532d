// Waiting until a time that the program has computed from a clock.
#pragma once

#include <time.h>

#include <cstdint>

namespace reprise::sys {

// In replay: this is what the program was told last.
void clock_answered(clockid_t clock, std::int64_t nanoseconds);

// The time until which to wait: what the program says or, in a replay, the same distance from now.
class Until {
 public:
  Until(const timespec* time, clockid_t clock, const void* caller);
  // By a clock that the program does not name.
  Until(const timespec* time, const void* caller);
  Until(const Until&) = delete;
  Until& operator=(const Until&) = delete;
  const timespec* get() const { return time_; }

 private:
  const timespec* time_;
  timespec moved_{};
};

}  // namespace reprise::sys
