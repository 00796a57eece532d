// Threads of C11 (<threads.h>). glibc's are its POSIX threads by other names, but call them in a way that nobody sees.
#include <threads.h>

#include <cerrno>
#include <cstdint>

#include "frontends/sys/next.hpp"
#include "frontends/threads/posix.hpp"

using namespace reprise::threads;

namespace {

static_assert(sizeof(mtx_t) == sizeof(pthread_mutex_t) && sizeof(cnd_t) == sizeof(pthread_cond_t));
static_assert(sizeof(once_flag) == sizeof(pthread_once_t) && sizeof(thrd_t) == sizeof(pthread_t));

pthread_mutex_t* posix(mtx_t* mutex) { return reinterpret_cast<pthread_mutex_t*>(mutex); }
pthread_cond_t* posix(cnd_t* condition) { return reinterpret_cast<pthread_cond_t*>(condition); }

int c11(int error) {
  switch (error) {
    case 0: return thrd_success;
    case ETIMEDOUT: return thrd_timedout;
    case EBUSY: return thrd_busy;
    case ENOMEM: return thrd_nomem;
    default: return thrd_error;
  }
}

struct Start {
  thrd_start_t routine;
  void* argument;
};

void* thread_main(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  delete static_cast<Start*>(argument);
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(start.routine(start.argument)));
}

}  // namespace

extern "C" {

int reprise_mtx_lock(mtx_t*) REPRISE_INTERPOSES("mtx_lock");
int reprise_mtx_lock(mtx_t* mutex) { return c11(lock(posix(mutex), REPRISE_RETURN_ADDRESS)); }

int reprise_mtx_trylock(mtx_t*) REPRISE_INTERPOSES("mtx_trylock");
int reprise_mtx_trylock(mtx_t* mutex) { return c11(try_lock(posix(mutex), REPRISE_RETURN_ADDRESS)); }

int reprise_mtx_timedlock(mtx_t*, const timespec*) REPRISE_INTERPOSES("mtx_timedlock");
int reprise_mtx_timedlock(mtx_t* mutex, const timespec* time) {
  return c11(lock_until(posix(mutex), time, REPRISE_RETURN_ADDRESS));
}

int reprise_cnd_wait(cnd_t*, mtx_t*) REPRISE_INTERPOSES("cnd_wait");
int reprise_cnd_wait(cnd_t* condition, mtx_t* mutex) {
  return c11(wait_on(posix(condition), posix(mutex), REPRISE_RETURN_ADDRESS));
}

int reprise_cnd_timedwait(cnd_t*, mtx_t*, const timespec*) REPRISE_INTERPOSES("cnd_timedwait");
int reprise_cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* time) {
  return c11(wait_on_until(posix(condition), posix(mutex), time, REPRISE_RETURN_ADDRESS));
}

int reprise_cnd_signal(cnd_t*) REPRISE_INTERPOSES("cnd_signal");
int reprise_cnd_signal(cnd_t* condition) { return c11(wake_one(posix(condition), REPRISE_RETURN_ADDRESS)); }

int reprise_cnd_broadcast(cnd_t*) REPRISE_INTERPOSES("cnd_broadcast");
int reprise_cnd_broadcast(cnd_t* condition) { return c11(wake_everybody(posix(condition), REPRISE_RETURN_ADDRESS)); }

void reprise_call_once(once_flag*, void (*)()) REPRISE_INTERPOSES("call_once");
void reprise_call_once(once_flag* flag, void (*routine)()) {
  run_once(reinterpret_cast<pthread_once_t*>(flag), routine, REPRISE_RETURN_ADDRESS);
}

int reprise_thrd_create(thrd_t*, thrd_start_t, void*) REPRISE_INTERPOSES("thrd_create");
int reprise_thrd_create(thrd_t* thread, thrd_start_t routine, void* argument) {
  auto* const start = new Start{routine, argument};
  const int error = make_thread(thread, nullptr, thread_main, start, REPRISE_RETURN_ADDRESS);
  if (error != 0) delete start;
  return c11(error == EAGAIN ? ENOMEM : error);
}

int reprise_thrd_join(thrd_t, int*) REPRISE_INTERPOSES("thrd_join");
int reprise_thrd_join(thrd_t thread, int* value) {
  void* returned = nullptr;
  const int error = join_thread(thread, &returned, REPRISE_RETURN_ADDRESS);
  if (value) *value = static_cast<int>(reinterpret_cast<std::uintptr_t>(returned));
  return c11(error);
}

}  // extern "C"
