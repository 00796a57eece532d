// Clocks, and the processor time that was used.
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

#include "frontends/sys/load.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/read.hpp"
#include "frontends/sys/timed_waits.hpp"

using namespace reprise::sys;

namespace {

constinit Next<int(clockid_t, timespec*)> g_clock_gettime{"clock_gettime"};
constinit Next<int(timeval*, void*)> g_gettimeofday{"gettimeofday"};
constinit Next<time_t(time_t*)> g_time{"time"};
constinit Next<int(timespec*, int)> g_timespec_get{"timespec_get"};
constinit Next<clock_t()> g_clock{"clock"};
constinit Next<clock_t(tms*)> g_times{"times"};
constinit Next<int(int, rusage*)> g_getrusage{"getrusage"};

constexpr std::int64_t kNano = 1'000'000'000;
constexpr std::int64_t kMicro = 1'000'000;

std::int64_t number_of(const timespec& time) { return time.tv_sec * kNano + time.tv_nsec; }
std::int64_t number_of(const timeval& time) { return time.tv_sec * kMicro + time.tv_usec; }

// Rounds down, so that the fraction is never negative.
timespec time_of(std::int64_t nanoseconds) {
  std::int64_t seconds = nanoseconds / kNano;
  if (nanoseconds % kNano < 0) --seconds;
  return {seconds, nanoseconds - seconds * kNano};
}
timeval period_of(std::int64_t microseconds) {
  const timespec time = time_of(microseconds * 1000);
  return {time.tv_sec, time.tv_nsec / 1000};
}

}  // namespace

void reprise::sys::find_clocks() {
  g_clock_gettime.find();
  g_gettimeofday.find();
  g_time.find();
  g_timespec_get.find();
  g_clock.find();
  g_times.find();
  g_getrusage.find();
}

extern "C" {

int reprise_clock_gettime(clockid_t, timespec*) REPRISE_INTERPOSES("clock_gettime");
int reprise_clock_gettime(clockid_t clock, timespec* out) {
  return read_numbers<1>(
      Function::ClockGettime, REPRISE_RETURN_ADDRESS, clock, [&] { return g_clock_gettime(clock, out); },
      [&](auto& values) { values[0] = number_of(*out); },
      [&](const auto& values) {
        *out = time_of(values[0]);
        clock_answered(clock, values[0]);
      });
}

int reprise_gettimeofday(timeval*, void*) REPRISE_INTERPOSES("gettimeofday");
int reprise_gettimeofday(timeval* out, void* zone) {
  if (!out) return g_gettimeofday(out, zone);
  return read_numbers<1>(
      Function::Gettimeofday, REPRISE_RETURN_ADDRESS, 0, [&] { return g_gettimeofday(out, zone); },
      [&](auto& values) { values[0] = number_of(*out); },
      [&](const auto& values) {
        if (zone) g_gettimeofday(out, zone);
        *out = period_of(values[0]);
        clock_answered(CLOCK_REALTIME, values[0] * 1000);
      });
}

time_t reprise_time(time_t*) REPRISE_INTERPOSES("time");
time_t reprise_time(time_t* out) {
  const time_t value = read_number(Function::Time, REPRISE_RETURN_ADDRESS, 0, [] { return g_time(nullptr); });
  if (out) *out = value;
  return value;
}

int reprise_timespec_get(timespec*, int) REPRISE_INTERPOSES("timespec_get");
int reprise_timespec_get(timespec* out, int base) {
  int result = 0;  // it returns the base, and 0 for a base that it does not know
  const int failed = read_numbers<1>(
      Function::TimespecGet, REPRISE_RETURN_ADDRESS, base,
      [&] {
        result = g_timespec_get(out, base);
        return result == 0 ? -1 : 0;
      },
      [&](auto& values) { values[0] = number_of(*out); },
      [&](const auto& values) {
        *out = time_of(values[0]);
        result = base;
      });
  return failed ? 0 : result;
}

clock_t reprise_clock() REPRISE_INTERPOSES("clock");
clock_t reprise_clock() {
  return read_number(Function::Clock, REPRISE_RETURN_ADDRESS, 0, [] { return g_clock(); });
}

clock_t reprise_times(tms*) REPRISE_INTERPOSES("times");
clock_t reprise_times(tms* out) {
  tms own{};
  tms& used = out ? *out : own;
  clock_t ticks = -1;
  read_numbers<5>(
      Function::Times, REPRISE_RETURN_ADDRESS, 0,
      [&] {
        ticks = g_times(&used);
        return ticks == -1 ? -1 : 0;
      },
      [&](auto& values) {
        values = {ticks, used.tms_utime, used.tms_stime, used.tms_cutime, used.tms_cstime};
      },
      [&](const auto& values) {
        ticks = values[0];
        used = {values[1], values[2], values[3], values[4]};
      });
  return ticks;
}

int reprise_getrusage(int, rusage*) REPRISE_INTERPOSES("getrusage");
int reprise_getrusage(int who, rusage* out) {
  return read_numbers<16>(
      Function::Getrusage, REPRISE_RETURN_ADDRESS, who, [&] { return g_getrusage(who, out); },
      [&](auto& values) {
        values = {number_of(out->ru_utime),
                  number_of(out->ru_stime),
                  out->ru_maxrss,
                  out->ru_ixrss,
                  out->ru_idrss,
                  out->ru_isrss,
                  out->ru_minflt,
                  out->ru_majflt,
                  out->ru_nswap,
                  out->ru_inblock,
                  out->ru_oublock,
                  out->ru_msgsnd,
                  out->ru_msgrcv,
                  out->ru_nsignals,
                  out->ru_nvcsw,
                  out->ru_nivcsw};
      },
      [&](const auto& values) {
        out->ru_utime = period_of(values[0]);
        out->ru_stime = period_of(values[1]);
        long* const fields[] = {&out->ru_maxrss, &out->ru_ixrss,    &out->ru_idrss,   &out->ru_isrss,   &out->ru_minflt,
                                &out->ru_majflt, &out->ru_nswap,    &out->ru_inblock, &out->ru_oublock, &out->ru_msgsnd,
                                &out->ru_msgrcv, &out->ru_nsignals, &out->ru_nvcsw,   &out->ru_nivcsw};
        for (std::size_t i = 0; i < std::size(fields); ++i) *fields[i] = values[i + 2];
      });
}

}  // extern "C"
