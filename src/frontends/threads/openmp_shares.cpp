// Work that the threads of an OpenMP team divide among themselves while they work (GCC's libgomp): loops whose chunks
// go to whoever asks, sections, and blocks for whoever comes first.
//
// Who gets what follows from the order in which the threads ask, so that order is the decision: while recording,
// threads ask one at a time; in a replay, in the recorded order. None of these functions waits for another thread, with
// two exceptions. GOMP_single_copy_start makes all but the first wait until that one has done its work, so the first
// has its turn when it returns, which is before any other does. In ordered loops a thread that asks for
// more waits until the loop comes to it; it waits before its turn, in GOMP_ordered_start, which does nothing else.
//
// Schedules that are computed from the thread's number (static) need none of this. Tasks are run by whichever thread is
// free, which cannot be forced from outside: a recording in which a team has made tasks says so.
#include <sched.h>

#include <atomic>

#include "frontends/sys/next.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;

namespace {

std::atomic_flag g_asking;  // also what the turns are on

template <class Ask>
auto share(Function function, const void* caller, Ask ask) {
  Sync sync(function, caller);
  if (sync.recording())
    while (g_asking.test_and_set(std::memory_order_acquire)) sched_yield();
  const auto got = ask();
  if (sync.recording()) {
    sync.passed(0, &g_asking);
    g_asking.clear(std::memory_order_release);
  } else if (sync.replaying()) {
    sync.over();
  }
  return got;
}

using Long = long;
using Ull = unsigned long long;

constinit Next<int()> g_in_parallel{"omp_in_parallel"};
std::atomic<bool> g_tasks_noted{false};

void note_tasks() {
  if (reprise::engine::mode() != Mode::Record || g_tasks_noted.load(std::memory_order_relaxed)) return;
  if (!g_in_parallel.find() || g_in_parallel() == 0 || g_tasks_noted.exchange(true)) return;
  Session& session = Session::get();
  Session::Lock lock(session);
  session.note("unsupported", "tasks of OpenMP: which thread runs a task, and when, is not recorded");
}

}  // namespace

// A function of libgomp that hands out work. SHARE(result, symbol, what it is in the log, parameters, arguments).
#define PARTS(...) __VA_ARGS__
#define SHARE(Result, symbol, function, parameters, arguments)                                  \
  namespace {                                                                                   \
  constinit Next<Result(parameters)> g_next_##symbol{#symbol};                                  \
  }                                                                                             \
  extern "C" Result reprise_##symbol(parameters) REPRISE_INTERPOSES(#symbol);                   \
  extern "C" Result reprise_##symbol(parameters) {                                              \
    return share(function, REPRISE_RETURN_ADDRESS, [&] { return g_next_##symbol(arguments); }); \
  }

#define LOOP_START(name)                                                             \
  SHARE(bool, GOMP_loop_##name##_start, Function::OmpLoop,                           \
        PARTS(Long start, Long end, Long step, Long chunk, Long* from, Long* to),    \
        PARTS(start, end, step, chunk, from, to))                                    \
  SHARE(bool, GOMP_loop_ull_##name##_start, Function::OmpLoop,                       \
        PARTS(bool up, Ull start, Ull end, Ull step, Ull chunk, Ull* from, Ull* to), \
        PARTS(up, start, end, step, chunk, from, to))
// The schedule, and so the size of chunks, comes from OMP_SCHEDULE.
#define RUNTIME_LOOP_START(name)                                                                         \
  SHARE(bool, GOMP_loop_##name##_start, Function::OmpLoop,                                               \
        PARTS(Long start, Long end, Long step, Long* from, Long* to), PARTS(start, end, step, from, to)) \
  SHARE(bool, GOMP_loop_ull_##name##_start, Function::OmpLoop,                                           \
        PARTS(bool up, Ull start, Ull end, Ull step, Ull* from, Ull* to), PARTS(up, start, end, step, from, to))
#define LOOP_NEXT(name)                                                                                 \
  SHARE(bool, GOMP_loop_##name##_next, Function::OmpLoop, PARTS(Long* from, Long* to), PARTS(from, to)) \
  SHARE(bool, GOMP_loop_ull_##name##_next, Function::OmpLoop, PARTS(Ull* from, Ull* to), PARTS(from, to))
#define DOACROSS_START(name)                                                                                          \
  SHARE(bool, GOMP_loop_doacross_##name##_start, Function::OmpLoop,                                                   \
        PARTS(unsigned loops, Long* counts, Long chunk, Long* from, Long* to), PARTS(loops, counts, chunk, from, to)) \
  SHARE(bool, GOMP_loop_ull_doacross_##name##_start, Function::OmpLoop,                                               \
        PARTS(unsigned loops, Ull* counts, Ull chunk, Ull* from, Ull* to), PARTS(loops, counts, chunk, from, to))
#define RUNTIME_DOACROSS_START(symbol, Type)                                                        \
  SHARE(bool, symbol, Function::OmpLoop, PARTS(unsigned loops, Type* counts, Type* from, Type* to), \
        PARTS(loops, counts, from, to))

namespace {
constinit Next<void()> g_await_order{"GOMP_ordered_start"};
}
#define ORDERED_NEXT(symbol, Type)                                                      \
  namespace {                                                                           \
  constinit Next<bool(Type*, Type*)> g_next_##symbol{#symbol};                          \
  }                                                                                     \
  extern "C" bool reprise_##symbol(Type* from, Type* to) REPRISE_INTERPOSES(#symbol);   \
  extern "C" bool reprise_##symbol(Type* from, Type* to) {                              \
    const void* const caller = REPRISE_RETURN_ADDRESS;                                  \
    g_await_order();                                                                    \
    return share(Function::OmpLoop, caller, [&] { return g_next_##symbol(from, to); }); \
  }

LOOP_START(dynamic)
LOOP_START(guided)
LOOP_START(nonmonotonic_dynamic)
LOOP_START(nonmonotonic_guided)
LOOP_START(ordered_dynamic)
LOOP_START(ordered_guided)
RUNTIME_LOOP_START(runtime)
RUNTIME_LOOP_START(nonmonotonic_runtime)
RUNTIME_LOOP_START(maybe_nonmonotonic_runtime)
RUNTIME_LOOP_START(ordered_runtime)
LOOP_NEXT(dynamic)
LOOP_NEXT(guided)
LOOP_NEXT(nonmonotonic_dynamic)
LOOP_NEXT(nonmonotonic_guided)
LOOP_NEXT(runtime)
LOOP_NEXT(nonmonotonic_runtime)
LOOP_NEXT(maybe_nonmonotonic_runtime)
ORDERED_NEXT(GOMP_loop_ordered_dynamic_next, Long)
ORDERED_NEXT(GOMP_loop_ordered_guided_next, Long)
ORDERED_NEXT(GOMP_loop_ordered_runtime_next, Long)
ORDERED_NEXT(GOMP_loop_ull_ordered_dynamic_next, Ull)
ORDERED_NEXT(GOMP_loop_ull_ordered_guided_next, Ull)
ORDERED_NEXT(GOMP_loop_ull_ordered_runtime_next, Ull)
DOACROSS_START(dynamic)
DOACROSS_START(guided)
RUNTIME_DOACROSS_START(GOMP_loop_doacross_runtime_start, Long)
RUNTIME_DOACROSS_START(GOMP_loop_ull_doacross_runtime_start, Ull)
SHARE(bool, GOMP_loop_start, Function::OmpLoop,
      PARTS(Long start, Long end, Long step, Long schedule, Long chunk, Long* from, Long* to, void* reductions,
            void** room),
      PARTS(start, end, step, schedule, chunk, from, to, reductions, room))
SHARE(bool, GOMP_loop_ull_start, Function::OmpLoop,
      PARTS(bool up, Ull start, Ull end, Ull step, Long schedule, Ull chunk, Ull* from, Ull* to, void* reductions,
            void** room),
      PARTS(up, start, end, step, schedule, chunk, from, to, reductions, room))
SHARE(unsigned, GOMP_sections_start, Function::OmpSections, unsigned count, count)
SHARE(unsigned, GOMP_sections2_start, Function::OmpSections, PARTS(unsigned count, void* reductions, void** room),
      PARTS(count, reductions, room))
SHARE(unsigned, GOMP_sections_next, Function::OmpSections, , )
SHARE(bool, GOMP_single_start, Function::OmpSingle, , )

namespace {

constinit Next<void*()> g_single_copy{"GOMP_single_copy_start"};

}  // namespace

extern "C" {

void* reprise_omp_single_copy() REPRISE_INTERPOSES("GOMP_single_copy_start");
void* reprise_omp_single_copy() {
  constexpr int kFirst = 1;
  Sync sync(Function::OmpSingle, REPRISE_RETURN_ADDRESS);
  if (sync.replaying() && sync.result() != kFirst) sync.over();  // it will wait for others, who come after this turn
  void* const copied = g_single_copy();
  if (sync.recording()) sync.passed(copied ? 0 : kFirst, &g_asking);
  if (sync.replaying() && sync.result() == kFirst) sync.over();
  return copied;
}

}  // extern "C"

// Their parameters differ from version to version of libgomp; they are words, and passed on as such.
#define WORDS void *a, void *b, void *c, void *d, void *e, void *f, void *g, void *h, void *i, void *j, void *k, void *l
#define TASKS(symbol)                                                  \
  namespace {                                                          \
  constinit Next<void(WORDS)> g_next_##symbol{#symbol};                \
  }                                                                    \
  extern "C" void reprise_##symbol(WORDS) REPRISE_INTERPOSES(#symbol); \
  extern "C" void reprise_##symbol(WORDS) {                            \
    note_tasks();                                                      \
    g_next_##symbol(a, b, c, d, e, f, g, h, i, j, k, l);               \
  }

TASKS(GOMP_task)
TASKS(GOMP_taskloop)
TASKS(GOMP_taskloop_ull)
