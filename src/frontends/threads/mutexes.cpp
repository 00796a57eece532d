// Mutexes and spin locks: who gets them, in which order.
#include <pthread.h>

#include <cerrno>

#include "frontends/sys/next.hpp"
#include "frontends/sys/timed_waits.hpp"
#include "frontends/threads/posix.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;

namespace {

constinit Next<int(pthread_mutex_t*)> g_lock{"pthread_mutex_lock"};
constinit Next<int(pthread_mutex_t*)> g_trylock{"pthread_mutex_trylock"};
constinit Next<int(pthread_mutex_t*, const timespec*)> g_timedlock{"pthread_mutex_timedlock"};
constinit Next<int(pthread_mutex_t*, clockid_t, const timespec*)> g_clocklock{"pthread_mutex_clocklock"};
constinit Next<int(pthread_spinlock_t*)> g_spin_lock{"pthread_spin_lock"};
constinit Next<int(pthread_spinlock_t*)> g_spin_trylock{"pthread_spin_trylock"};

const void* address_of(pthread_spinlock_t* lock) { return const_cast<const int*>(lock); }

}  // namespace

void reprise::threads::find_mutexes() {
  for (auto* next : {&g_lock, &g_trylock}) next->find();
  for (auto* next : {&g_spin_lock, &g_spin_trylock}) next->find();
  g_timedlock.find();
  g_clocklock.find();
}

void reprise::threads::stage_mutexes() {
  g_lock.replace(staged::lock);
  g_trylock.replace(staged::try_lock);
  g_spin_trylock.replace(staged::spin_try_lock);
  g_timedlock.replace(staged::timed_lock);
  g_clocklock.replace(staged::clock_lock);
  g_spin_lock.replace(staged::spin_lock);
}

int reprise::threads::lock(pthread_mutex_t* mutex, const void* caller) {
  return await_lock(
      Function::MutexLock, caller, mutex, [&] { return g_trylock(mutex); }, [&] { return g_lock(mutex); });
}

int reprise::threads::try_lock(pthread_mutex_t* mutex, const void* caller) {
  return acquire_lock(
      Function::MutexTrylock, caller, mutex, [&] { return g_trylock(mutex); }, [&] { return g_lock(mutex); });
}

int reprise::threads::lock_until(pthread_mutex_t* mutex, const timespec* time, const void* caller) {
  return acquire_lock(
      Function::MutexTimedlock, caller, mutex,
      [&] { return g_timedlock(mutex, reprise::sys::Until(time, CLOCK_REALTIME, caller).get()); },
      [&] { return g_lock(mutex); });
}

extern "C" {

int reprise_mutex_lock(pthread_mutex_t*) REPRISE_INTERPOSES("pthread_mutex_lock");
int reprise_mutex_lock(pthread_mutex_t* mutex) { return lock(mutex, REPRISE_RETURN_ADDRESS); }

int reprise_mutex_trylock(pthread_mutex_t*) REPRISE_INTERPOSES("pthread_mutex_trylock");
int reprise_mutex_trylock(pthread_mutex_t* mutex) { return try_lock(mutex, REPRISE_RETURN_ADDRESS); }

int reprise_mutex_timedlock(pthread_mutex_t*, const timespec*) REPRISE_INTERPOSES("pthread_mutex_timedlock");
int reprise_mutex_timedlock(pthread_mutex_t* mutex, const timespec* time) {
  return lock_until(mutex, time, REPRISE_RETURN_ADDRESS);
}

int reprise_mutex_clocklock(pthread_mutex_t*, clockid_t, const timespec*) REPRISE_INTERPOSES("pthread_mutex_clocklock");
int reprise_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  const void* const caller = REPRISE_RETURN_ADDRESS;
  return acquire_lock(
      Function::MutexClocklock, caller, mutex,
      [&] { return g_clocklock(mutex, clock, reprise::sys::Until(time, clock, caller).get()); },
      [&] { return g_lock(mutex); });
}

int reprise_spin_lock(pthread_spinlock_t*) REPRISE_INTERPOSES("pthread_spin_lock");
int reprise_spin_lock(pthread_spinlock_t* spin) {
  const auto lock = [&] { return g_spin_lock(spin); };
  return acquire(Function::SpinLock, REPRISE_RETURN_ADDRESS, address_of(spin), lock, lock);
}

int reprise_spin_trylock(pthread_spinlock_t*) REPRISE_INTERPOSES("pthread_spin_trylock");
int reprise_spin_trylock(pthread_spinlock_t* spin) {
  return acquire(
      Function::SpinTrylock, REPRISE_RETURN_ADDRESS, address_of(spin), [&] { return g_spin_trylock(spin); },
      [&] { return g_spin_lock(spin); });
}

}  // extern "C"
