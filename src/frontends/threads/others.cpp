// Barriers and pthread_once.
#include <pthread.h>

#include "frontends/sys/next.hpp"
#include "frontends/threads/posix.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;

namespace {

constinit Next<int(pthread_barrier_t*)> g_barrier_wait{"pthread_barrier_wait"};
constinit Next<int(pthread_once_t*, void (*)())> g_once{"pthread_once"};

// pthread_once passes its routine no argument. One may begin while another is at work.
struct OnceCall {
  const void* caller;
  pthread_once_t* control;
  void (*routine)();
  bool ran;
};
thread_local OnceCall* t_once __attribute__((tls_model("initial-exec"))) = nullptr;

// Its turn ends with the routine, before anybody else can see that it has been run.
void run_routine() {
  OnceCall& call = *t_once;
  call.ran = true;
  call.routine();
  Sync sync(Function::OnceRun, call.caller);
  if (sync.recording()) sync.passed(0, call.control);
  if (sync.replaying()) sync.over();
}

int once(pthread_once_t* control, void (*routine)(), const void* caller, bool& ran) {
  OnceCall call{caller, control, routine, false};
  OnceCall* const before = std::exchange(t_once, &call);
  const int result = g_once(control, run_routine);
  t_once = before;
  ran = call.ran;
  return result;
}

}  // namespace

void reprise::threads::find_others() {
  g_barrier_wait.find();
  g_once.find();
}

void reprise::threads::stage_barriers() { g_barrier_wait.replace(staged::barrier_wait); }

// Who runs the routine logs that when it is done; everybody else that it was done before. So a replay knows from what
// comes next in its log which of the two this thread is.
int reprise::threads::run_once(pthread_once_t* control, void (*routine)(), const void* caller) {
  bool ran = false;
  if (!reprise::engine::has_threads()) return g_once(control, routine);
  if (Sync::comes_next(Function::Once, caller)) {
    Sync sync(Function::Once, caller);
    const int result = g_once(control, routine);
    if (sync.replaying()) sync.over();
    return result;
  }
  const int result = once(control, routine, caller, ran);
  if (ran || Sync::is_replay()) return result;
  Sync sync(Function::Once, caller);
  if (sync.recording()) sync.passed(0, control);
  return result;
}

extern "C" {

// Everybody waits for everybody, in a replay as well; only who is told to be the last is up to the library.
int reprise_barrier_wait(pthread_barrier_t*) REPRISE_INTERPOSES("pthread_barrier_wait");
int reprise_barrier_wait(pthread_barrier_t* barrier) {
  Sync sync(Function::BarrierWait, REPRISE_RETURN_ADDRESS);
  const int result = g_barrier_wait(barrier);
  if (sync.recording()) sync.passed(result);
  return sync.replaying() ? static_cast<int>(sync.result()) : result;
}

int reprise_once(pthread_once_t*, void (*)()) REPRISE_INTERPOSES("pthread_once");
int reprise_once(pthread_once_t* control, void (*routine)()) {
  return run_once(control, routine, REPRISE_RETURN_ADDRESS);
}

}  // extern "C"
