// Python's global lock, and where it lets go of it.
//
// A Python thread that waits for the lock asks the thread that has it, after 5 ms, to let go of it at the next
// opportunity: between any two of its instructions. Which ones these are nobody can see from outside, and what the
// threads do then depends on it. A thread that sleeps, waits or communicates lets go of the lock by itself, and that can
// be seen. So while recording, the request is put off: long enough that a thread which will let go by itself does so,
// short enough that nobody starves. Where it has to be made all the same, the trace says so.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>

namespace reprise::threads {

// Is this where Python waits for its lock, in a recording with threads?
bool waits_for_python(const void* caller);
// The run has become one that may not be replayed exactly.
void python_switches_by_force();

inline constexpr int kPythonPatience = 100;  // times the 5 ms that Python waits

// `wait` until `time`; Python's waits for its lock a hundred times as long.
template <class Wait>
int patiently(const void* caller, const timespec* time, Wait wait) {
  int result = wait(time);
  if (result != ETIMEDOUT || !waits_for_python(caller)) return result;
  timespec later = *time;
  for (int round = 1; round < kPythonPatience && result == ETIMEDOUT; ++round) {
    later.tv_nsec += 5'000'000;
    if (later.tv_nsec >= 1'000'000'000) {
      later.tv_nsec -= 1'000'000'000;
      ++later.tv_sec;
    }
    result = wait(&later);
  }
  if (result == ETIMEDOUT) python_switches_by_force();
  return result;
}

}  // namespace reprise::threads
