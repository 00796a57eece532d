#include "frontends/threads/staged.hpp"

#include <cerrno>
#include <list>

#include "engine/baton.hpp"
#include "engine/session.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/virtual_time.hpp"
#include "frontends/threads/posix.hpp"

namespace reprise::threads {

using engine::Baton;
using engine::BatonPlace;
using sys::Next;

bool begin_staging() {
  Baton& baton = Baton::get();
  if (!baton.is_prepared()) return false;
  if (baton.used()) return true;
  stage_mutexes();
  stage_conditions();
  stage_rwlocks();
  stage_semaphores();
  stage_barriers();
  stage_life();
  stage_openmp();
  engine::t_stream->place = baton.begin();
  return true;
}

namespace staged {

bool is_on_stage() { return engine::t_stream && engine::t_stream->place && Baton::get().used(); }

namespace {

template <class Object>
using Timed = Next<int(Object*, const timespec*)>;
template <class Object>
using Clocked = Next<int(Object*, clockid_t, const timespec*)>;

constinit Next<int(pthread_mutex_t*)> g_lock{"pthread_mutex_lock"};
constinit Next<int(pthread_mutex_t*)> g_trylock{"pthread_mutex_trylock"};
constinit Next<int(pthread_mutex_t*)> g_unlock{"pthread_mutex_unlock"};
constinit Timed<pthread_mutex_t> g_timedlock{"pthread_mutex_timedlock"};
constinit Clocked<pthread_mutex_t> g_clocklock{"pthread_mutex_clocklock"};
constinit Next<int(pthread_spinlock_t*)> g_spin_lock{"pthread_spin_lock"};
constinit Next<int(pthread_spinlock_t*)> g_spin_trylock{"pthread_spin_trylock"};
constinit Next<int(pthread_rwlock_t*)> g_rdlock{"pthread_rwlock_rdlock"};
constinit Next<int(pthread_rwlock_t*)> g_tryrdlock{"pthread_rwlock_tryrdlock"};
constinit Timed<pthread_rwlock_t> g_timedrdlock{"pthread_rwlock_timedrdlock"};
constinit Clocked<pthread_rwlock_t> g_clockrdlock{"pthread_rwlock_clockrdlock"};
constinit Next<int(pthread_rwlock_t*)> g_wrlock{"pthread_rwlock_wrlock"};
constinit Next<int(pthread_rwlock_t*)> g_trywrlock{"pthread_rwlock_trywrlock"};
constinit Timed<pthread_rwlock_t> g_timedwrlock{"pthread_rwlock_timedwrlock"};
constinit Clocked<pthread_rwlock_t> g_clockwrlock{"pthread_rwlock_clockwrlock"};
constinit Next<int(sem_t*)> g_sem_wait{"sem_wait"};
constinit Next<int(sem_t*)> g_sem_trywait{"sem_trywait"};
constinit Timed<sem_t> g_sem_timedwait{"sem_timedwait"};
constinit Clocked<sem_t> g_sem_clockwait{"sem_clockwait"};
constinit Next<int(pthread_t, void**)> g_join{"pthread_join"};
constinit Next<int(pthread_t, void**)> g_tryjoin{"pthread_tryjoin_np"};
constinit Next<int(pthread_t, void**, const timespec*)> g_timedjoin{"pthread_timedjoin_np"};
constinit Next<int(pthread_t, void**, clockid_t, const timespec*)> g_clockjoin{"pthread_clockjoin_np"};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*)> g_wait{"pthread_cond_wait", kConditionVersion};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> g_timedwait{"pthread_cond_timedwait",
                                                                                    kConditionVersion};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> g_clockwait{
    "pthread_cond_clockwait"};
constinit Next<int(pthread_cond_t*)> g_signal{"pthread_cond_signal", kConditionVersion};
constinit Next<int(pthread_cond_t*)> g_broadcast{"pthread_cond_broadcast", kConditionVersion};
constinit Next<int(pthread_barrier_t*)> g_barrier_wait{"pthread_barrier_wait"};

// No time is for ever.
std::int64_t time_of(const timespec* time) { return time ? sys::virtual_time_of(*time) : BatonPlace::kNever; }
bool is_wrong(const timespec* time) { return time->tv_nsec < 0 || time->tv_nsec >= 1'000'000'000; }

// Until `take` gives something else than EBUSY. A wrong time is looked at only by those who must wait.
template <class Take>
int take_until(const timespec* time, Take take) {
  int result = EBUSY;
  const auto took = [&] { return (result = take()) != EBUSY; };
  Baton& baton = Baton::get();
  baton.enter();
  if (took()) return result;
  if (time && is_wrong(time)) return EINVAL;
  return baton.until(took, time_of(time)) ? result : ETIMEDOUT;
}

}  // namespace

// --- locks -----------------------------------------------------------------------------------------------------------

namespace {

// To lock a mutex twice is an error that some kinds of mutex report; trying does not tell.
int take_mutex(pthread_mutex_t* mutex, const timespec* time) {
  const bool checks = (mutex->__data.__kind & 3) == PTHREAD_MUTEX_ERRORCHECK;
  if (checks && mutex->__data.__owner == engine::t_stream->place->kernel_id.load(std::memory_order_relaxed))
    return g_lock(mutex);
  engine::t_stream->object = mutex;
  return take_until(time, [&] { return g_trylock(mutex); });
}

int take_to_read(pthread_rwlock_t* lock, const timespec* time) {
  engine::t_stream->object = lock;
  return take_until(time, [&] { return g_tryrdlock(lock); });
}
int take_to_write(pthread_rwlock_t* lock, const timespec* time) {
  engine::t_stream->object = lock;
  return take_until(time, [&] { return g_trywrlock(lock); });
}

}  // namespace

int lock(pthread_mutex_t* mutex) { return is_on_stage() ? take_mutex(mutex, nullptr) : g_lock(mutex); }
int timed_lock(pthread_mutex_t* mutex, const timespec* time) {
  return is_on_stage() ? take_mutex(mutex, time) : g_timedlock(mutex, time);
}
int clock_lock(pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  return is_on_stage() ? take_mutex(mutex, time) : g_clocklock(mutex, clock, time);
}

int spin_lock(pthread_spinlock_t* lock) {
  return is_on_stage() ? take_until(nullptr, [&] { return g_spin_trylock(lock); }) : g_spin_lock(lock);
}

int read_lock(pthread_rwlock_t* lock) { return is_on_stage() ? take_to_read(lock, nullptr) : g_rdlock(lock); }
int timed_read_lock(pthread_rwlock_t* lock, const timespec* time) {
  return is_on_stage() ? take_to_read(lock, time) : g_timedrdlock(lock, time);
}
int clock_read_lock(pthread_rwlock_t* lock, clockid_t clock, const timespec* time) {
  return is_on_stage() ? take_to_read(lock, time) : g_clockrdlock(lock, clock, time);
}
int write_lock(pthread_rwlock_t* lock) { return is_on_stage() ? take_to_write(lock, nullptr) : g_wrlock(lock); }
int timed_write_lock(pthread_rwlock_t* lock, const timespec* time) {
  return is_on_stage() ? take_to_write(lock, time) : g_timedwrlock(lock, time);
}
int clock_write_lock(pthread_rwlock_t* lock, clockid_t clock, const timespec* time) {
  return is_on_stage() ? take_to_write(lock, time) : g_clockwrlock(lock, clock, time);
}

// --- trying ----------------------------------------------------------------------------------------------------------

namespace {

template <class Try>
int try_once(Try try_to_take) {
  if (!is_on_stage()) return try_to_take();
  Baton::get().enter();
  const int result = try_to_take();
  if (result == 0) return 0;
  const int error = errno;
  Baton::get().yield();
  errno = error;
  return result;
}

}  // namespace

int try_lock(pthread_mutex_t* mutex) {
  return try_once([&] { return g_trylock(mutex); });
}
int spin_try_lock(pthread_spinlock_t* lock) {
  return try_once([&] { return g_spin_trylock(lock); });
}
int try_read_lock(pthread_rwlock_t* lock) {
  return try_once([&] { return g_tryrdlock(lock); });
}
int try_write_lock(pthread_rwlock_t* lock) {
  return try_once([&] { return g_trywrlock(lock); });
}
int sem_try_wait(sem_t* semaphore) {
  return try_once([&] { return g_sem_trywait(semaphore); });
}
// Whether it has really ended is a matter of time, whether it has left the stage is not.
int try_join(pthread_t thread, void** value) {
  if (!is_on_stage()) return g_tryjoin(thread, value);
  Baton& baton = Baton::get();
  return try_once([&] {
    return baton.has_left(thread) ? baton.without_interruption([&] { return g_join(thread, value); }) : EBUSY;
  });
}

// --- semaphores: errors are errno's ----------------------------------------------------------------------------------

namespace {

int take_semaphore(sem_t* semaphore, const timespec* time) {
  const int error = take_until(time, [&] {
    pthread_testcancel();
    if (g_sem_trywait(semaphore) == 0) return 0;
    return errno == EAGAIN ? EBUSY : errno;
  });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace

int sem_wait(sem_t* semaphore) { return is_on_stage() ? take_semaphore(semaphore, nullptr) : g_sem_wait(semaphore); }
int sem_timed_wait(sem_t* semaphore, const timespec* time) {
  return is_on_stage() ? take_semaphore(semaphore, time) : g_sem_timedwait(semaphore, time);
}
int sem_clock_wait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  return is_on_stage() ? take_semaphore(semaphore, time) : g_sem_clockwait(semaphore, clock, time);
}

// --- conditions ------------------------------------------------------------------------------------------------------

namespace {

struct Waiter {
  const pthread_cond_t* condition;
  pthread_mutex_t* mutex;
  bool woken;
};

// In the order in which they began to wait. Only used by whoever has the baton.
std::list<Waiter*>& waiters() {
  static auto* const all = new std::list<Waiter*>();
  return *all;
}

// A thread that is cancelled while it waits has the mutex again when its clean-up functions run.
void cancelled(void* argument) {
  auto* const waiter = static_cast<Waiter*>(argument);
  waiters().remove(waiter);
  lock(waiter->mutex);
}

int wait_until(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  if (time && is_wrong(time)) return EINVAL;
  Waiter waiter{condition, mutex, false};
  Baton& baton = Baton::get();
  baton.enter();
  if (const int error = g_unlock(mutex); error != 0) return error;
  waiters().push_back(&waiter);
  bool woken = false;
  pthread_cleanup_push(cancelled, &waiter);
  woken = baton.until(
      [&] {
        pthread_testcancel();
        return waiter.woken;
      },
      time_of(time));
  pthread_cleanup_pop(0);
  if (!woken) waiters().remove(&waiter);
  const int error = take_mutex(mutex, nullptr);
  return error != 0 ? error : woken ? 0 : ETIMEDOUT;
}

void wake(const pthread_cond_t* condition, bool all) {
  if (!is_on_stage()) return;
  Baton::get().enter();
  for (auto at = waiters().begin(); at != waiters().end();) {
    if ((*at)->condition != condition) {
      ++at;
      continue;
    }
    (*at)->woken = true;
    at = waiters().erase(at);
    if (!all) return;
  }
}

}  // namespace

int wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  return is_on_stage() ? wait_until(condition, mutex, nullptr) : g_wait(condition, mutex);
}
int timed_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* time) {
  return is_on_stage() ? wait_until(condition, mutex, time) : g_timedwait(condition, mutex, time);
}
int clock_wait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock, const timespec* time) {
  return is_on_stage() ? wait_until(condition, mutex, time) : g_clockwait(condition, mutex, clock, time);
}

// Threads of others may wait, too.
int signal(pthread_cond_t* condition) {
  wake(condition, false);
  return g_signal(condition);
}
int broadcast(pthread_cond_t* condition) {
  wake(condition, true);
  return g_broadcast(condition);
}

// --- the end of a thread ---------------------------------------------------------------------------------------------

namespace {

int join_until(pthread_t thread, void** value, const timespec* time) {
  if (pthread_equal(thread, pthread_self())) return g_join(thread, value);
  engine::t_stream->object = reinterpret_cast<const void*>(thread);
  const bool over = Baton::get().until(
      [&] {
        pthread_testcancel();
        return Baton::get().has_left(thread);
      },
      time_of(time));
  if (!over) return ETIMEDOUT;
  return Baton::get().without_interruption([&] { return g_join(thread, value); });
}

}  // namespace

int join(pthread_t thread, void** value) {
  return is_on_stage() ? join_until(thread, value, nullptr) : g_join(thread, value);
}
int timed_join(pthread_t thread, void** value, const timespec* time) {
  return is_on_stage() ? join_until(thread, value, time) : g_timedjoin(thread, value, time);
}
int clock_join(pthread_t thread, void** value, clockid_t clock, const timespec* time) {
  return is_on_stage() ? join_until(thread, value, time) : g_clockjoin(thread, value, clock, time);
}

// Everybody is away meanwhile: who comes out of it first makes no difference.
int barrier_wait(pthread_barrier_t* barrier) {
  if (!is_on_stage()) return g_barrier_wait(barrier);
  engine::t_stream->object = barrier;
  Baton::get().step_away();
  const int result = g_barrier_wait(barrier);
  Baton::get().enter();
  engine::t_stream->object = nullptr;
  return result;
}

}  // namespace staged
}  // namespace reprise::threads
