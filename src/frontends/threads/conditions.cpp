// Condition variables: who wakes, when, and who times out.
//
// In a replay nobody really waits: the turns that a waiter had to come after are those of whoever woke it and of
// whoever had the mutex last, so it lets go of the mutex, waits for them, and takes the mutex again. Spurious wake-ups
// come again by themselves, and a time-out takes no time.
#include <pthread.h>

#include <cerrno>
#include <optional>

#include "frontends/sys/next.hpp"
#include "frontends/sys/timed_waits.hpp"
#include "frontends/threads/posix.hpp"
#include "frontends/threads/python.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;
using reprise::sys::Until;

namespace {

constinit Next<int(pthread_cond_t*, pthread_mutex_t*)> g_wait{"pthread_cond_wait", kConditionVersion};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> g_timedwait{"pthread_cond_timedwait",
                                                                                    kConditionVersion};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> g_clockwait{
    "pthread_cond_clockwait"};
constinit Next<int(pthread_cond_t*)> g_signal{"pthread_cond_signal", kConditionVersion};
constinit Next<int(pthread_cond_t*)> g_broadcast{"pthread_cond_broadcast", kConditionVersion};
constinit Next<int(pthread_mutex_t*)> g_lock{"pthread_mutex_lock"};
constinit Next<int(pthread_mutex_t*)> g_unlock{"pthread_mutex_unlock"};

constexpr bool has_mutex(std::int64_t result) { return result == 0 || result == ETIMEDOUT || result == EOWNERDEAD; }

// A thread that is cancelled while it waits has the mutex again when its clean-up functions run.
constexpr std::int64_t kCancelled = -1;
struct Waiter {
  Sync* sync;
  pthread_cond_t* condition;
  pthread_mutex_t* mutex;
};
void cancelled(void* argument) {
  const Waiter& waiter = *static_cast<Waiter*>(argument);
  waiter.sync->passed(kCancelled, waiter.condition, waiter.mutex);
  reprise::engine::t_stream->wait.end();  // forced unwinding runs no destructors here
  waiter.sync->leave();
}

template <class Wait>
int record_wait(Function function, const void* caller, Sync& sync, pthread_cond_t* condition, pthread_mutex_t* mutex,
                Wait real) {
  std::optional<Waiting> waiting;
  if (function == Function::CondWait) waiting.emplace(function, condition, caller);  // the others end by themselves
  Waiter waiter{&sync, condition, mutex};
  int result = 0;
  pthread_cleanup_push(cancelled, &waiter);
  result = real();
  pthread_cleanup_pop(0);
  if (has_mutex(result)) sync.passed(result, condition, mutex);
  else sync.passed(result);
  return result;
}

// While a Sync awaits its turns, the mutex must be free.
template <class Wait>
int wait(Function function, const void* caller, pthread_cond_t* condition, pthread_mutex_t* mutex, Wait real) {
  Sync sync(function, caller, Sync::kLater);
  if (sync.replaying()) {
    if (!has_mutex(sync.result()) && sync.result() != kCancelled) return static_cast<int>(sync.result());
    g_unlock(mutex);
    if (sync.unfinished()) {
      const Waiting waiting(function, condition, caller);
      sync.await();
    }
    sync.await();
    g_lock(mutex);
    sync.over(2);
    if (sync.result() != kCancelled) return static_cast<int>(sync.result());
    sync.leave();
    pthread_exit(PTHREAD_CANCELED);
  }
  return sync.recording() ? record_wait(function, caller, sync, condition, mutex, real) : real();
}

template <class Wake>
int wake(Function function, const void* caller, pthread_cond_t* condition, Wake real) {
  Sync sync(function, caller);
  if (sync.recording()) {  // before anybody can wake
    sync.passed(0, condition);
    note_signal(condition, caller);
  }
  const int result = real();
  if (sync.replaying()) sync.over();
  return result;
}

}  // namespace

void reprise::threads::find_conditions() {
  g_wait.find();
  g_timedwait.find();
  g_clockwait.find();
  for (auto* next : {&g_signal, &g_broadcast}) next->find();
  for (auto* next : {&g_lock, &g_unlock}) next->find();
}

void reprise::threads::stage_conditions() {
  g_wait.replace(staged::wait);
  g_timedwait.replace(staged::timed_wait);
  g_clockwait.replace(staged::clock_wait);
  g_signal.replace(staged::signal);
  g_broadcast.replace(staged::broadcast);
}

int reprise::threads::wait_on(pthread_cond_t* condition, pthread_mutex_t* mutex, const void* caller) {
  return wait(Function::CondWait, caller, condition, mutex, [&] { return g_wait(condition, mutex); });
}

int reprise::threads::wait_on_until(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time,
                                    const void* caller) {
  return wait(Function::CondTimedwait, caller, condition, mutex, [&] {
    return patiently(caller, time,
                     [&](const timespec* until) { return g_timedwait(condition, mutex, Until(until, caller).get()); });
  });
}

int reprise::threads::wake_one(pthread_cond_t* condition, const void* caller) {
  return wake(Function::CondSignal, caller, condition, [&] { return g_signal(condition); });
}

int reprise::threads::wake_everybody(pthread_cond_t* condition, const void* caller) {
  return wake(Function::CondBroadcast, caller, condition, [&] { return g_broadcast(condition); });
}

extern "C" {

int reprise_cond_wait(pthread_cond_t*, pthread_mutex_t*) REPRISE_INTERPOSES("pthread_cond_wait");
int reprise_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return wait_on(condition, mutex, REPRISE_RETURN_ADDRESS);
}

int reprise_cond_timedwait(pthread_cond_t*, pthread_mutex_t*, const timespec*)
    REPRISE_INTERPOSES("pthread_cond_timedwait");
int reprise_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  return wait_on_until(condition, mutex, time, REPRISE_RETURN_ADDRESS);
}

int reprise_cond_clockwait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)
    REPRISE_INTERPOSES("pthread_cond_clockwait");
int reprise_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  const void* const caller = REPRISE_RETURN_ADDRESS;
  return wait(Function::CondClockwait, caller, condition, mutex,
              [&] { return g_clockwait(condition, mutex, clock, Until(time, clock, caller).get()); });
}

int reprise_cond_signal(pthread_cond_t*) REPRISE_INTERPOSES("pthread_cond_signal");
int reprise_cond_signal(pthread_cond_t* condition) { return wake_one(condition, REPRISE_RETURN_ADDRESS); }

int reprise_cond_broadcast(pthread_cond_t*) REPRISE_INTERPOSES("pthread_cond_broadcast");
int reprise_cond_broadcast(pthread_cond_t* condition) { return wake_everybody(condition, REPRISE_RETURN_ADDRESS); }

}  // extern "C"
