// Critical sections and locks of OpenMP, as GCC's libgomp provides them: who gets them, in which order.
//
// libgomp builds them on futexes of its own, below which nothing can be seen; so they are interposed by name. A lock is
// known by its address, which is an argument also in Fortran.
#include <sched.h>

#include "engine/baton.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/threads/staged.hpp"
#include "frontends/threads/sync.hpp"

using namespace reprise::threads;
using reprise::sys::Next;

namespace {

using Lock = void(void*);
using Test = int(void*);

constinit Next<void()> g_critical{"GOMP_critical_start"};
constinit Next<void(void**)> g_named_critical{"GOMP_critical_name_start"};
constinit Next<void()> g_atomic{"GOMP_atomic_start"};
constinit Next<void()> g_critical_end{"GOMP_critical_end"};
constinit Next<void(void**)> g_named_critical_end{"GOMP_critical_name_end"};
constinit Next<void()> g_atomic_end{"GOMP_atomic_end"};
constinit Next<Lock> g_set{"omp_set_lock"};
constinit Next<Lock> g_set_nest{"omp_set_nest_lock"};
constinit Next<Test> g_test{"omp_test_lock"};
constinit Next<Test> g_test_nest{"omp_test_nest_lock"};
constinit Next<Lock> g_set_fortran{"omp_set_lock_"};
constinit Next<Lock> g_set_nest_fortran{"omp_set_nest_lock_"};
constinit Next<Test> g_test_fortran{"omp_test_lock_"};
constinit Next<Test> g_test_nest_fortran{"omp_test_nest_lock_"};

// One critical section without a name, and one of all atomic updates that are too large for the processor.
const char kCritical = 0;
const char kAtomic = 0;

template <class Take>
void enter(Function function, const void* caller, const void* object, Take take) {
  const auto lock = [&] {
    take();
    return 0;
  };
  acquire(function, caller, object, lock, lock);
}

// Returns whether it got the lock, or how often it has it.
int test(Function function, const void* caller, void* lock, Next<Test>& next) {
  Sync sync(function, caller);
  if (sync.replaying()) {
    if (sync.result() == 0) return 0;
    int got;
    while ((got = next(lock)) == 0) sched_yield();  // its last owner has had its turn, but may not be out yet
    sync.over();
    return got;
  }
  const int got = next(lock);
  if (sync.recording()) sync.passed(got, got != 0 ? lock : nullptr);
  return got;
}

// In an explored rank: by trying.
template <Next<Test>& kTest>
void set_by_testing(void* lock) {
  if (!staged::is_on_stage())
    while (kTest(lock) == 0) sched_yield();
  else reprise::engine::Baton::get().until([&] { return kTest(lock) != 0; });
}

}  // namespace

void reprise::threads::stage_openmp() {
  g_critical.replace(staged::critical_start);
  g_critical_end.replace(staged::critical_end);
  g_named_critical.replace(staged::named_critical_start);
  g_named_critical_end.replace(staged::named_critical_end);
  g_atomic.replace(staged::atomic_start);
  g_atomic_end.replace(staged::atomic_end);
  g_set.replace(set_by_testing<g_test>);
  g_set_nest.replace(set_by_testing<g_test_nest>);
  g_set_fortran.replace(set_by_testing<g_test_fortran>);
  g_set_nest_fortran.replace(set_by_testing<g_test_nest_fortran>);
}

extern "C" {

void reprise_omp_critical() REPRISE_INTERPOSES("GOMP_critical_start");
void reprise_omp_critical() {
  enter(Function::OmpCritical, REPRISE_RETURN_ADDRESS, &kCritical, [] { g_critical(); });
}

void reprise_omp_named_critical(void**) REPRISE_INTERPOSES("GOMP_critical_name_start");
void reprise_omp_named_critical(void** name) {
  enter(Function::OmpCritical, REPRISE_RETURN_ADDRESS, name, [&] { g_named_critical(name); });
}

void reprise_omp_atomic() REPRISE_INTERPOSES("GOMP_atomic_start");
void reprise_omp_atomic() {
  enter(Function::OmpAtomic, REPRISE_RETURN_ADDRESS, &kAtomic, [] { g_atomic(); });
}

// The ends decide nothing.
void reprise_omp_critical_end() REPRISE_INTERPOSES("GOMP_critical_end");
void reprise_omp_critical_end() { g_critical_end(); }
void reprise_omp_named_critical_end(void**) REPRISE_INTERPOSES("GOMP_critical_name_end");
void reprise_omp_named_critical_end(void** name) { g_named_critical_end(name); }
void reprise_omp_atomic_end() REPRISE_INTERPOSES("GOMP_atomic_end");
void reprise_omp_atomic_end() { g_atomic_end(); }

void reprise_omp_set(void*) REPRISE_INTERPOSES("omp_set_lock");
void reprise_omp_set(void* lock) {
  enter(Function::OmpSetLock, REPRISE_RETURN_ADDRESS, lock, [&] { g_set(lock); });
}
void reprise_omp_set_fortran(void*) REPRISE_INTERPOSES("omp_set_lock_");
void reprise_omp_set_fortran(void* lock) {
  enter(Function::OmpSetLock, REPRISE_RETURN_ADDRESS, lock, [&] { g_set_fortran(lock); });
}

void reprise_omp_set_nest(void*) REPRISE_INTERPOSES("omp_set_nest_lock");
void reprise_omp_set_nest(void* lock) {
  enter(Function::OmpSetNestLock, REPRISE_RETURN_ADDRESS, lock, [&] { g_set_nest(lock); });
}
void reprise_omp_set_nest_fortran(void*) REPRISE_INTERPOSES("omp_set_nest_lock_");
void reprise_omp_set_nest_fortran(void* lock) {
  enter(Function::OmpSetNestLock, REPRISE_RETURN_ADDRESS, lock, [&] { g_set_nest_fortran(lock); });
}

int reprise_omp_test(void*) REPRISE_INTERPOSES("omp_test_lock");
int reprise_omp_test(void* lock) { return test(Function::OmpTestLock, REPRISE_RETURN_ADDRESS, lock, g_test); }
int reprise_omp_test_fortran(void*) REPRISE_INTERPOSES("omp_test_lock_");
int reprise_omp_test_fortran(void* lock) {
  return test(Function::OmpTestLock, REPRISE_RETURN_ADDRESS, lock, g_test_fortran);
}

int reprise_omp_test_nest(void*) REPRISE_INTERPOSES("omp_test_nest_lock");
int reprise_omp_test_nest(void* lock) {
  return test(Function::OmpTestNestLock, REPRISE_RETURN_ADDRESS, lock, g_test_nest);
}
int reprise_omp_test_nest_fortran(void*) REPRISE_INTERPOSES("omp_test_nest_lock_");
int reprise_omp_test_nest_fortran(void* lock) {
  return test(Function::OmpTestNestLock, REPRISE_RETURN_ADDRESS, lock, g_test_nest_fortran);
}

}  // extern "C"
