// Waiting until a time. In a replay the program computes that time from clocks of the recorded run, which may be long
// ago or, for clocks that start with the machine, far ahead. So it is moved by as much as the clock's last answer is
// away from the real time: the wait then lasts as long as it was meant to.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "frontends/sys/load.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/read.hpp"
#include "frontends/sys/timed_waits.hpp"
#include "frontends/sys/virtual_time.hpp"

using namespace reprise::sys;

namespace {

constinit Next<int(clockid_t, int, const timespec*, timespec*)> g_clock_nanosleep{"clock_nanosleep"};
constinit Next<int(const timespec*, timespec*)> g_nanosleep{"nanosleep"};
constinit Next<int(useconds_t)> g_usleep{"usleep"};
constinit Next<unsigned(unsigned)> g_sleep{"sleep"};
constinit Next<int()> g_yield{"sched_yield"};
constexpr std::int64_t kNano = 1'000'000'000;
constexpr clockid_t kClocks = 16;

// The last answer of each clock in nanoseconds; 0 if there was none.
std::atomic<std::int64_t> g_answered[kClocks];
std::int64_t answered(clockid_t clock) { return g_answered[clock].load(std::memory_order_relaxed); }

std::int64_t real_time(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);  // ours, which gives this library the real one
  return now.tv_sec * kNano + now.tv_nsec;
}

std::int64_t number_of(const timespec& time) { return time.tv_sec * kNano + time.tv_nsec; }

// Of an explored rank: nobody is faster because it sleeps.
bool pauses_virtually(const void* caller, std::int64_t nanoseconds) {
  if (!g_time_is_virtual || mode_for(caller) == Mode::Passive) return false;
  reprise::frontends::t_inside = false;
  if (reprise::engine::t_stream->place) reprise::engine::Baton::get().pause(nanoseconds);
  else advance_virtual_time(nanoseconds);
  return true;
}

clockid_t nearest_clock(std::int64_t time) {
  const auto apart = [&](clockid_t clock) {
    return time > answered(clock) ? time - answered(clock) : answered(clock) - time;
  };
  return apart(CLOCK_MONOTONIC) < apart(CLOCK_REALTIME) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

}  // namespace

void reprise::sys::clock_answered(clockid_t clock, std::int64_t nanoseconds) {
  if (clock >= 0 && clock < kClocks) g_answered[clock].store(nanoseconds, std::memory_order_relaxed);
}

// The threads of an explored rank wait in virtual time.
Until::Until(const timespec* time, clockid_t clock, const void* caller) : time_(time) {
  if (reprise::engine::t_stream && reprise::engine::t_stream->place) return;
  if (!time || clock < 0 || clock >= kClocks || answered(clock) == 0) return;
  const Mode mode = mode_for(caller);
  if (mode == Mode::Passive) return;
  reprise::frontends::t_inside = false;
  if (mode != Mode::Replay && !g_time_is_virtual) return;
  const std::int64_t wait = time->tv_sec * kNano + time->tv_nsec - answered(clock);
  const std::int64_t end = real_time(clock) + std::max<std::int64_t>(wait, 0);
  moved_ = {end / kNano, end % kNano};
  time_ = &moved_;
}

// A condition may wait by either clock, and does not say which. They are decades apart.
Until::Until(const timespec* time, const void* caller)
    : Until(time, time ? nearest_clock(time->tv_sec * kNano + time->tv_nsec) : CLOCK_REALTIME, caller) {}

void reprise::sys::find_timed_waits() {
  g_clock_nanosleep.find();
  g_nanosleep.find();
  g_usleep.find();
  g_sleep.find();
  g_yield.find();
}

extern "C" {

int reprise_clock_nanosleep(clockid_t, int, const timespec*, timespec*) REPRISE_INTERPOSES("clock_nanosleep");
int reprise_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (g_time_is_virtual && time) {
    const bool known = clock >= 0 && clock < kClocks;
    const std::int64_t wait =
        flags == TIMER_ABSTIME ? number_of(*time) - (known ? answered(clock) : 0) : number_of(*time);
    if (known && pauses_virtually(REPRISE_RETURN_ADDRESS, wait)) return 0;
  }
  if (flags != TIMER_ABSTIME) return g_clock_nanosleep(clock, flags, time, left);
  const Until until(time, clock, REPRISE_RETURN_ADDRESS);
  return g_clock_nanosleep(clock, flags, until.get(), left);
}

int reprise_nanosleep(const timespec*, timespec*) REPRISE_INTERPOSES("nanosleep");
int reprise_nanosleep(const timespec* time, timespec* left) {
  if (g_time_is_virtual && time && pauses_virtually(REPRISE_RETURN_ADDRESS, number_of(*time))) return 0;
  return g_nanosleep(time, left);
}

int reprise_usleep(useconds_t) REPRISE_INTERPOSES("usleep");
int reprise_usleep(useconds_t microseconds) {
  if (g_time_is_virtual && pauses_virtually(REPRISE_RETURN_ADDRESS, std::int64_t{1000} * microseconds)) return 0;
  return g_usleep(microseconds);
}

// Where threads run one at a time, it is a pause like any other.
int reprise_yield() REPRISE_INTERPOSES("sched_yield");
int reprise_yield() {
  const bool on_stage = reprise::engine::t_stream && reprise::engine::t_stream->place;
  if (!on_stage || mode_for(REPRISE_RETURN_ADDRESS) == Mode::Passive) return g_yield();
  reprise::frontends::t_inside = false;
  reprise::engine::Baton::get().yield();
  return 0;
}

unsigned reprise_sleep(unsigned) REPRISE_INTERPOSES("sleep");
unsigned reprise_sleep(unsigned seconds) {
  if (g_time_is_virtual && pauses_virtually(REPRISE_RETURN_ADDRESS, kNano * seconds)) return 0;
  return g_sleep(seconds);
}

}  // extern "C"
