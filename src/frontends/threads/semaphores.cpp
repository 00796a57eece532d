// Semaphores: in which order they are posted and taken. Failures are errno's, logged as positive numbers.
#include <semaphore.h>

#include <cerrno>

#include "frontends/sys/next.hpp"
#include "frontends/sys/timed_waits.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;
using reprise::sys::Until;

namespace {

constinit Next<int(sem_t*)> g_wait{"sem_wait"};
constinit Next<int(sem_t*)> g_trywait{"sem_trywait"};
constinit Next<int(sem_t*, const timespec*)> g_timedwait{"sem_timedwait"};
constinit Next<int(sem_t*, clockid_t, const timespec*)> g_clockwait{"sem_clockwait"};
constinit Next<int(sem_t*)> g_post{"sem_post"};
constinit Next<int(sem_t*, int*)> g_getvalue{"sem_getvalue"};

int as_error(int result) { return result == 0 ? 0 : errno; }

// The same as acquire(), with errno.
template <class Take>
int take(Function function, const void* caller, sem_t* semaphore, Take real) {
  const int error = acquire(
      function, caller, semaphore, [&] { return as_error(real()); },
      [&] {
        while (g_wait(semaphore) != 0)
          if (errno != EINTR) return errno;
        return 0;
      });
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace

void reprise::threads::find_semaphores() {
  for (auto* next : {&g_wait, &g_trywait, &g_post}) next->find();
  g_timedwait.find();
  g_clockwait.find();
  g_getvalue.find();
}

void reprise::threads::stage_semaphores() {
  g_wait.replace(staged::sem_wait);
  g_trywait.replace(staged::sem_try_wait);
  g_timedwait.replace(staged::sem_timed_wait);
  g_clockwait.replace(staged::sem_clock_wait);
}

extern "C" {

int reprise_sem_wait(sem_t*) REPRISE_INTERPOSES("sem_wait");
int reprise_sem_wait(sem_t* semaphore) {
  return take(Function::SemWait, REPRISE_RETURN_ADDRESS, semaphore, [&] { return g_wait(semaphore); });
}

int reprise_sem_trywait(sem_t*) REPRISE_INTERPOSES("sem_trywait");
int reprise_sem_trywait(sem_t* semaphore) {
  return take(Function::SemTrywait, REPRISE_RETURN_ADDRESS, semaphore, [&] { return g_trywait(semaphore); });
}

int reprise_sem_timedwait(sem_t*, const timespec*) REPRISE_INTERPOSES("sem_timedwait");
int reprise_sem_timedwait(sem_t* semaphore, const timespec* time) {
  const void* const caller = REPRISE_RETURN_ADDRESS;
  return take(Function::SemTimedwait, caller, semaphore,
              [&] { return g_timedwait(semaphore, Until(time, CLOCK_REALTIME, caller).get()); });
}

int reprise_sem_clockwait(sem_t*, clockid_t, const timespec*) REPRISE_INTERPOSES("sem_clockwait");
int reprise_sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* time) {
  const void* const caller = REPRISE_RETURN_ADDRESS;
  return take(Function::SemClockwait, caller, semaphore,
              [&] { return g_clockwait(semaphore, clock, Until(time, clock, caller).get()); });
}

int reprise_sem_post(sem_t*) REPRISE_INTERPOSES("sem_post");
int reprise_sem_post(sem_t* semaphore) {
  Sync sync(Function::SemPost, REPRISE_RETURN_ADDRESS);
  if (sync.recording()) sync.passed(0, semaphore);  // before anybody can take it
  const int result = g_post(semaphore);
  if (sync.replaying()) sync.over();
  return result;
}

int reprise_sem_getvalue(sem_t*, int*) REPRISE_INTERPOSES("sem_getvalue");
int reprise_sem_getvalue(sem_t* semaphore, int* value) {
  Sync sync(Function::SemGetvalue, REPRISE_RETURN_ADDRESS);
  const int result = g_getvalue(semaphore, value);
  if (result == 0 && sync.recording()) sync.passed(*value);
  else if (sync.recording()) sync.passed(0);
  if (result == 0 && sync.replaying()) *value = static_cast<int>(sync.result());
  return result;
}

}  // extern "C"
