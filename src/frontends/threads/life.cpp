// Threads come and go. A thread is known by its number, which the log of the thread that makes it holds.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "frontends/access_modules.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/threads/posix.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::engine::ThreadStream;
using reprise::sys::Next;

namespace {

using Routine = void* (*)(void*);

constinit Next<int(pthread_t*, const pthread_attr_t*, Routine, void*)> g_create{"pthread_create"};
constinit Next<int(pthread_t, void**)> g_join{"pthread_join"};
constinit Next<int(pthread_t)> g_cancel{"pthread_cancel"};
constinit Next<int(pthread_t, void**)> g_tryjoin{"pthread_tryjoin_np"};
constinit Next<int(pthread_t, void**, const timespec*)> g_timedjoin{"pthread_timedjoin_np"};
constinit Next<int(pthread_t, void**, clockid_t, const timespec*)> g_clockjoin{"pthread_clockjoin_np"};

struct Start {
  Routine routine;
  void* argument;
  ThreadStream* stream;
};

// The thread's log is closed after everything else that the program does at the thread's end: destructors of
// thread_local objects come before those of keys, and this key's last of all, since it asks to be called again.
pthread_key_t g_end_key;
thread_local int t_rounds __attribute__((tls_model("initial-exec"))) = 0;

void thread_ends(void* value) {
  if (++t_rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(g_end_key, value);
    return;
  }
  if (reprise::engine::t_stream->place) reprise::engine::Baton::get().leave();
  if (reprise::engine::t_stream->number > 0) Session::get().thread_ends();  // the main thread's log is the rank's
}

bool has_end_key() {
  static const bool made = pthread_key_create(&g_end_key, thread_ends) == 0;
  return made;
}

void* thread_main(void* argument) {
  const Start start = *static_cast<Start*>(argument);
  delete static_cast<Start*>(argument);
  reprise::engine::t_stream = start.stream;
  start.stream->kernel_id.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_release);
  pthread_setspecific(g_end_key, start.stream);
  if (start.stream->place) reprise::engine::Baton::get().arrive(*start.stream->place);
  return start.routine(start.argument);
}

// Before MPI_Init an explored program is nobody yet: copies of it will be the ranks, and threads are not copied.
std::atomic<int> g_early_threads{0};
struct EarlyStart {
  Routine routine;
  void* argument;
};
void* early_thread_main(void* argument) {
  const EarlyStart start = *static_cast<EarlyStart*>(argument);
  delete static_cast<EarlyStart*>(argument);
  void* result = nullptr;
  pthread_cleanup_push([](void*) { g_early_threads.fetch_sub(1, std::memory_order_relaxed); }, nullptr);
  result = start.routine(start.argument);
  pthread_cleanup_pop(1);
  return result;
}

int make_early_thread(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument) {
  auto* const start = new EarlyStart{routine, argument};
  g_early_threads.fetch_add(1, std::memory_order_relaxed);
  const int result = g_create(thread, attributes, early_thread_main, start);
  if (result == 0) return 0;
  g_early_threads.fetch_sub(1, std::memory_order_relaxed);
  delete start;
  return result;
}

// MCAPI: this process may become a rank by any of its threads, at any time. What the others do before they are nodes themselves has then no
// place in a log.
void leave_threads_to_nodes() {
  Session& session = Session::get();
  if (session.configuration().has_nodes && reprise::engine::mode() == Mode::Armed && reprise::engine::on_main_thread())
    session.leave_main_thread();
}

bool is_followed(const void* caller) {
  if (reprise::engine::mode() == Mode::Passive || !reprise::engine::t_stream || reprise::frontends::t_inside)
    return false;
  return reprise::sys::called_by_program(caller) && Session::get().begin_threads(reprise::frontends::all_functions()) &&
         has_end_key();
}

// Forced unwinding runs no destructors here.
void cancelled_in_join(void* sync) {
  reprise::engine::t_stream->wait.end();
  static_cast<Sync*>(sync)->leave();
}

// A join that may fail because the thread has not ended yet.
template <class Join>
int try_to_join(Function function, const void* caller, pthread_t thread, void** value, Join join) {
  Sync sync(function, caller);
  if (sync.replaying()) {
    if (sync.result() != 0) return static_cast<int>(sync.result());
    return g_join(thread, value);
  }
  const int result = join();
  if (sync.recording()) sync.passed(result);
  return result;
}

}  // namespace

void reprise::threads::find_life() {
  g_create.find();
  find_deadlock_functions();
  g_cancel.find();
  for (auto* next : {&g_join, &g_tryjoin}) next->find();
  g_timedjoin.find();
  g_clockjoin.find();
}

void reprise::threads::follow_running_thread(std::uint32_t number) {
  if (!has_end_key()) return;
  Session& session = Session::get();
  session.begin_threads_late();
  ThreadStream* const stream = session.new_thread(number);
  if (!stream) return;
  reprise::engine::t_stream = stream;
  stream->kernel_id.store(static_cast<int>(::syscall(SYS_gettid)), std::memory_order_release);
  pthread_setspecific(g_end_key, stream);
  session.thread_was_made(stream, pthread_self());
}

int reprise::threads::early_threads() { return g_early_threads.load(std::memory_order_relaxed); }

void reprise::threads::stage_life() {
  g_join.replace(staged::join);
  g_tryjoin.replace(staged::try_join);
  g_timedjoin.replace(staged::timed_join);
  g_clockjoin.replace(staged::clock_join);
}

int reprise::threads::make_thread(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument,
                                  const void* caller) {
  if (reprise::sys::called_by_program(caller)) reprise::frontends::has_more_threads();
  if (!is_followed(caller)) {
    if (!reprise::sys::called_by_program(caller)) return make_library_thread(thread, attributes, routine, argument);
    const bool explored = Session::get().configuration().mode == Mode::Explore;
    if (explored && !reprise::engine::Baton::get().is_prepared())
      return make_early_thread(thread, attributes, routine, argument);
    leave_threads_to_nodes();
    return g_create(thread, attributes, routine, argument);
  }
  const bool explored = begin_staging();
  // An explored rank's main thread may end before the others do.
  if (explored && reprise::engine::t_stream->number == 0)
    pthread_setspecific(g_end_key, reprise::engine::t_stream);
  if (!explored) begin_finding_deadlocks();
  Sync sync(Function::Create, caller);
  Session& session = Session::get();
  std::uint32_t number = 0;
  if (sync.recording()) {
    // Logged before the thread can do anything.
    number = session.next_thread_number();
    sync.passed(number);
  } else if (sync.replaying()) {
    number = static_cast<std::uint32_t>(sync.result());
  } else if (explored) {
    number = session.next_thread_number();
  }
  ThreadStream* const stream = number > 0 ? session.new_thread(number) : nullptr;
  if (!stream) return g_create(thread, attributes, routine, argument);
  if (explored) stream->place = reprise::engine::Baton::get().add(number);
  auto* const start = new Start{routine, argument, stream};
  const int result = g_create(thread, attributes, thread_main, start);
  if (stream->place) stream->place->handle = *thread;
  if (result != 0) delete start;
  else session.thread_was_made(stream, *thread);
  return result;
}

int reprise::threads::join_thread(pthread_t thread, void** value, const void* caller) {
  Sync sync(Function::Join, caller, Sync::kLater);
  if (!sync.recording() && !sync.unfinished()) return g_join(thread, value);
  const Waiting waiting(Function::Join, reinterpret_cast<const void*>(thread), caller);
  if (sync.unfinished()) sync.await();
  int result = 0;
  pthread_cleanup_push(cancelled_in_join, &sync);
  result = g_join(thread, value);
  pthread_cleanup_pop(0);
  sync.passed(0);
  return result;
}

extern "C" {

int reprise_create(pthread_t*, const pthread_attr_t*, Routine, void*) REPRISE_INTERPOSES("pthread_create");
int reprise_create(pthread_t* thread, const pthread_attr_t* attributes, Routine routine, void* argument) {
  return make_thread(thread, attributes, routine, argument, REPRISE_RETURN_ADDRESS);
}

int reprise_join(pthread_t, void**) REPRISE_INTERPOSES("pthread_join");
int reprise_join(pthread_t thread, void** value) { return join_thread(thread, value, REPRISE_RETURN_ADDRESS); }

// In a replay the thread is cancelled when it has done everything that it did then. If it was cancelled in a call that
// is logged, it ends there by itself.
int reprise_cancel(pthread_t) REPRISE_INTERPOSES("pthread_cancel");
int reprise_cancel(pthread_t thread) {
  Sync sync(Function::Cancel, REPRISE_RETURN_ADDRESS);
  if (sync.recording()) sync.passed(0);
  if (sync.replaying()) Session::get().await_end_of_log(thread);
  return g_cancel(thread);
}

int reprise_tryjoin(pthread_t, void**) REPRISE_INTERPOSES("pthread_tryjoin_np");
int reprise_tryjoin(pthread_t thread, void** value) {
  return try_to_join(Function::Tryjoin, REPRISE_RETURN_ADDRESS, thread, value,
                     [&] { return g_tryjoin(thread, value); });
}

int reprise_timedjoin(pthread_t, void**, const timespec*) REPRISE_INTERPOSES("pthread_timedjoin_np");
int reprise_timedjoin(pthread_t thread, void** value, const timespec* time) {
  return try_to_join(Function::Timedjoin, REPRISE_RETURN_ADDRESS, thread, value,
                     [&] { return g_timedjoin(thread, value, time); });
}

int reprise_clockjoin(pthread_t, void**, clockid_t, const timespec*) REPRISE_INTERPOSES("pthread_clockjoin_np");
int reprise_clockjoin(pthread_t thread, void** value, clockid_t clock, const timespec* time) {
  return try_to_join(Function::Clockjoin, REPRISE_RETURN_ADDRESS, thread, value,
                     [&] { return g_clockjoin(thread, value, clock, time); });
}

}  // extern "C"
