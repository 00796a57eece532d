// What timed_waits.cpp must know of the clocks.
#pragma once

#include <time.h>

#include <cstdint>

namespace reprise::sys {

// In replay: this is what the program was told last.
void clock_answered(clockid_t clock, std::int64_t nanoseconds);

}  // namespace reprise::sys
