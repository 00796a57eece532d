#include "frontends/sys/program_caller.hpp"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/module_graph.hpp"
#include "frontends/sys/next.hpp"

namespace reprise::sys {
namespace {

constinit ModuleGraph g_modules;
std::atomic<pthread_t> g_asking{};  // the thread that uses g_modules

// False in a signal handler that has interrupted its own thread here: nobody can wait for himself. Nor for ever for
// another thread: that one may be waiting for the loader, in which this thread is. But long enough for one that has lost
// its processor: the wrong answer would make a call of the program go by unseen.
bool begin_asking() {
  const pthread_t self = pthread_self();
  for (int tries = 0; tries < 5000; ++tries) {
    pthread_t nobody{};
    if (g_asking.compare_exchange_strong(nobody, self, std::memory_order_acquire)) return true;
    if (nobody == self) return false;
    const timespec moment{0, 1'000'000};
    if (tries < 100) sched_yield();
    else nanosleep(&moment, nullptr);
  }
  return false;
}

}  // namespace

bool ask_whether_programs(const void* caller) {
  if (!begin_asking()) return false;
  g_modules.read_loaded(reinterpret_cast<const void*>(&ask_whether_programs));
  const bool answer = g_modules.is_programs(caller);
  g_asking.store(pthread_t{}, std::memory_order_release);
  const auto address = reinterpret_cast<std::uint64_t>(caller);
  g_known_callers[address * 0x9e3779b97f4a7c15ull >> 56].store(address << 1 | (answer ? 1 : 0),
                                                               std::memory_order_relaxed);
  return answer;
}

}  // namespace reprise::sys

namespace {

constinit reprise::sys::Next<int(void*)> g_dlclose{"dlclose"};

}  // namespace

// What is unloaded may make room for something else at the same addresses.
extern "C" int reprise_dlclose(void* handle) REPRISE_INTERPOSES("dlclose");
extern "C" int reprise_dlclose(void* handle) {
  const int result = g_dlclose(handle);
  for (auto& known : reprise::sys::g_known_callers) known.store(0, std::memory_order_relaxed);
  return result;
}
