// Read-write locks. Readers have turns among each other too, though they could pass in any order: it costs less to say
// so than to tell which of them a writer came after.
#include <pthread.h>

#include <cerrno>

#include "frontends/sys/next.hpp"
#include "frontends/sys/timed_waits.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;
using reprise::sys::Until;

namespace {

using Plain = Next<int(pthread_rwlock_t*)>;
using Timed = Next<int(pthread_rwlock_t*, const timespec*)>;
using Clocked = Next<int(pthread_rwlock_t*, clockid_t, const timespec*)>;

constinit Plain g_rdlock{"pthread_rwlock_rdlock"};
constinit Plain g_tryrdlock{"pthread_rwlock_tryrdlock"};
constinit Timed g_timedrdlock{"pthread_rwlock_timedrdlock"};
constinit Clocked g_clockrdlock{"pthread_rwlock_clockrdlock"};
constinit Plain g_wrlock{"pthread_rwlock_wrlock"};
constinit Plain g_trywrlock{"pthread_rwlock_trywrlock"};
constinit Timed g_timedwrlock{"pthread_rwlock_timedwrlock"};
constinit Clocked g_clockwrlock{"pthread_rwlock_clockwrlock"};

}  // namespace

void reprise::threads::find_rwlocks() {
  for (auto* next : {&g_rdlock, &g_tryrdlock, &g_wrlock, &g_trywrlock}) next->find();
  for (auto* next : {&g_timedrdlock, &g_timedwrlock}) next->find();
  for (auto* next : {&g_clockrdlock, &g_clockwrlock}) next->find();
}

void reprise::threads::stage_rwlocks() {
  g_rdlock.replace(staged::read_lock);
  g_tryrdlock.replace(staged::try_read_lock);
  g_trywrlock.replace(staged::try_write_lock);
  g_timedrdlock.replace(staged::timed_read_lock);
  g_clockrdlock.replace(staged::clock_read_lock);
  g_wrlock.replace(staged::write_lock);
  g_timedwrlock.replace(staged::timed_write_lock);
  g_clockwrlock.replace(staged::clock_write_lock);
}

extern "C" {

#define REPRISE_RWLOCK(kind, Kind)                                                                                     \
  int reprise_rwlock_##kind(pthread_rwlock_t*) REPRISE_INTERPOSES("pthread_rwlock_" #kind);                            \
  int reprise_rwlock_##kind(pthread_rwlock_t* lock) {                                                                  \
    return await_lock(                                                                                                 \
        Function::Rwlock##Kind, REPRISE_RETURN_ADDRESS, lock, [&] { return g_try##kind(lock); },                       \
        [&] { return g_##kind(lock); }, kRwlock);                                                                      \
  }                                                                                                                    \
  int reprise_rwlock_try##kind(pthread_rwlock_t*) REPRISE_INTERPOSES("pthread_rwlock_try" #kind);                      \
  int reprise_rwlock_try##kind(pthread_rwlock_t* lock) {                                                               \
    return acquire_lock(                                                                                               \
        Function::RwlockTry##kind, REPRISE_RETURN_ADDRESS, lock, [&] { return g_try##kind(lock); },                    \
        [&] { return g_##kind(lock); }, kRwlock);                                                                      \
  }                                                                                                                    \
  int reprise_rwlock_timed##kind(pthread_rwlock_t*, const timespec*) REPRISE_INTERPOSES("pthread_rwlock_timed" #kind); \
  int reprise_rwlock_timed##kind(pthread_rwlock_t* lock, const timespec* time) {                                       \
    const void* const caller = REPRISE_RETURN_ADDRESS;                                                                 \
    return acquire_lock(                                                                                               \
        Function::RwlockTimed##kind, caller, lock,                                                                     \
        [&] { return g_timed##kind(lock, Until(time, CLOCK_REALTIME, caller).get()); },                                \
        [&] { return g_##kind(lock); }, kRwlock);                                                                      \
  }                                                                                                                    \
  int reprise_rwlock_clock##kind(pthread_rwlock_t*, clockid_t, const timespec*)                                        \
      REPRISE_INTERPOSES("pthread_rwlock_clock" #kind);                                                                \
  int reprise_rwlock_clock##kind(pthread_rwlock_t* lock, clockid_t clock, const timespec* time) {                      \
    const void* const caller = REPRISE_RETURN_ADDRESS;                                                                 \
    return acquire_lock(                                                                                               \
        Function::RwlockClock##kind, caller, lock,                                                                     \
        [&] { return g_clock##kind(lock, clock, Until(time, clock, caller).get()); }, [&] { return g_##kind(lock); },  \
        kRwlock);                                                                                                      \
  }

REPRISE_RWLOCK(rdlock, Rdlock)
REPRISE_RWLOCK(wrlock, Wrlock)

#undef REPRISE_RWLOCK

}  // extern "C"
