#include "frontends/threads/python.hpp"

#include <dlfcn.h>

#include <atomic>

#include "base/loaded_modules.hpp"
#include "engine/session.hpp"

namespace reprise::threads {
namespace {

// Python uses condition variables for nothing but its global lock (its other locks are semaphores), so every call from
// the module that holds the interpreter is one.
bool is_in_python(const void* caller) {
  void* const interpreter = dlsym(RTLD_DEFAULT, "PyEval_SaveThread");
  LoadedModule python, calling;
  return interpreter && find_module_of(interpreter, python) && find_module_of(caller, calling) &&
         python.base == calling.base;
}

std::atomic<const void*> g_known_site{nullptr};

}  // namespace

bool waits_for_python(const void* caller) {
  if (!engine::has_threads() || engine::mode() == engine::Mode::Passive || !engine::t_stream) return false;
  if (engine::Session::get().configuration().mode != engine::Mode::Record || engine::t_stream->place) return false;
  if (g_known_site.load(std::memory_order_relaxed) == caller) return true;
  if (!is_in_python(caller)) return false;
  g_known_site.store(caller, std::memory_order_relaxed);
  return true;
}

void python_switches_by_force() { engine::Session::get().remark(engine::Session::kPythonSwitched); }

}  // namespace reprise::threads
