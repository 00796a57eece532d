// Waiting until a time. In a replay the program computes that time from clocks of the recorded run, which may be long
// ago or, for clocks that start with the machine, far ahead. So it is moved by as much as the clock's last answer is
// away from the real time: the wait then lasts as long as it was meant to.
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>

#include "frontends/sys/load.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/read.hpp"
#include "frontends/sys/timed_waits.hpp"

using namespace reprise::sys;

namespace {

constinit Next<int(clockid_t, int, const timespec*, timespec*)> g_clock_nanosleep{"clock_nanosleep"};
// glibc on x86_64 has an older pthread_cond_timedwait for another kind of condition, and dlsym would find that.
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> g_cond_timedwait{"pthread_cond_timedwait",
                                                                                         "GLIBC_2.3.2"};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> g_cond_clockwait{
    "pthread_cond_clockwait"};
constinit Next<int(pthread_mutex_t*, const timespec*)> g_mutex_timedlock{"pthread_mutex_timedlock"};
constinit Next<int(sem_t*, const timespec*)> g_sem_timedwait{"sem_timedwait"};
constinit Next<int(sem_t*, clockid_t, const timespec*)> g_sem_clockwait{"sem_clockwait"};

constexpr std::int64_t kNano = 1'000'000'000;
constexpr clockid_t kClocks = 16;

// The last answer of each clock in nanoseconds; 0 if there was none.
std::int64_t g_answered[kClocks];

std::int64_t real_time(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);  // ours, which gives this library the real one
  return now.tv_sec * kNano + now.tv_nsec;
}

// A condition may wait by either clock, and does not say which. They are decades apart.
clockid_t nearest_clock(std::int64_t time) {
  const auto apart = [&](clockid_t clock) {
    return time > g_answered[clock] ? time - g_answered[clock] : g_answered[clock] - time;
  };
  return apart(CLOCK_MONOTONIC) < apart(CLOCK_REALTIME) ? CLOCK_MONOTONIC : CLOCK_REALTIME;
}

class Until {
 public:
  Until(const timespec* time, clockid_t clock, const void* caller) : time_(time) {
    if (!time || clock < 0 || clock >= kClocks || g_answered[clock] == 0) return;
    const Mode mode = mode_for(caller);
    if (mode == Mode::Passive) return;
    reprise::mpi::t_state.inside = false;
    if (mode != Mode::Replay) return;
    const std::int64_t wait = time->tv_sec * kNano + time->tv_nsec - g_answered[clock];
    const std::int64_t end = real_time(clock) + std::max<std::int64_t>(wait, 0);
    moved_ = {end / kNano, end % kNano};
    time_ = &moved_;
  }
  operator const timespec*() const { return time_; }

 private:
  const timespec* time_;
  timespec moved_{};
};

Until until_nearest(const timespec* time, const void* caller) {
  return Until(time, time ? nearest_clock(time->tv_sec * kNano + time->tv_nsec) : CLOCK_REALTIME, caller);
}

}  // namespace

void reprise::sys::clock_answered(clockid_t clock, std::int64_t nanoseconds) {
  if (clock >= 0 && clock < kClocks) g_answered[clock] = nanoseconds;
}

void reprise::sys::find_timed_waits() {
  g_clock_nanosleep.find();
  g_cond_timedwait.find();
  g_cond_clockwait.find();
  g_mutex_timedlock.find();
  g_sem_timedwait.find();
  g_sem_clockwait.find();
}

extern "C" {

int reprise_clock_nanosleep(clockid_t, int, const timespec*, timespec*) REPRISE_INTERPOSES("clock_nanosleep");
int reprise_clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (flags != TIMER_ABSTIME) return g_clock_nanosleep(clock, flags, time, left);
  const Until until(time, clock, REPRISE_RETURN_ADDRESS);
  return g_clock_nanosleep(clock, flags, static_cast<const timespec*>(until), left);
}

int reprise_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*)
    REPRISE_INTERPOSES("pthread_cond_timedwait");
int reprise_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  const Until until = until_nearest(time, REPRISE_RETURN_ADDRESS);
  return g_cond_timedwait(condition, mutex, static_cast<const timespec*>(until));
}

int reprise_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)
    REPRISE_INTERPOSES("pthread_cond_clockwait");
int reprise_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  const Until until(time, clock, REPRISE_RETURN_ADDRESS);
  return g_cond_clockwait(condition, mutex, clock, static_cast<const timespec*>(until));
}

int reprise_mutex_timedlock(pthread_mutex_t*, const timespec*) REPRISE_INTERPOSES("pthread_mutex_timedlock");
int reprise_mutex_timedlock(pthread_mutex_t* mutex, const timespec* time) {
  const Until until(time, CLOCK_REALTIME, REPRISE_RETURN_ADDRESS);
  return g_mutex_timedlock(mutex, static_cast<const timespec*>(until));
}

int reprise_sem_timedwait(sem_t*, const timespec*) REPRISE_INTERPOSES("sem_timedwait");
int reprise_sem_timedwait(sem_t* semaphore, const timespec* time) {
  const Until until(time, CLOCK_REALTIME, REPRISE_RETURN_ADDRESS);
  return g_sem_timedwait(semaphore, static_cast<const timespec*>(until));
}

int reprise_sem_clockwait(sem_t*, clockid_t, const timespec*) REPRISE_INTERPOSES("sem_clockwait");
int reprise_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  const Until until(time, clock, REPRISE_RETURN_ADDRESS);
  return g_sem_clockwait(semaphore, clock, static_cast<const timespec*>(until));
}

}  // extern "C"
