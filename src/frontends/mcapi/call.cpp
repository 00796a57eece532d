#include "frontends/mcapi/call.hpp"

#include <dlfcn.h>

#include <atomic>
#include <iterator>

namespace reprise::mcapi {

namespace {

std::atomic<void*> g_known[std::size(kFunctionNames)];

}  // namespace

void use_runtime_function(Function function, void* found) { g_known[static_cast<std::size_t>(function)].store(found, std::memory_order_relaxed); }

void* runtime_function(Function function) {
  const auto index = static_cast<std::size_t>(function);
  void* found = g_known[index].load(std::memory_order_relaxed);
  if (found) [[likely]]
    return found;
  found = dlsym(RTLD_NEXT, kFunctionNames[index]);
  if (!found) Session::get().give_up(std::string("the program's MCAPI library has no ") + kFunctionNames[index]);
  g_known[index].store(found, std::memory_order_relaxed);
  return found;
}

void Call::begin_test(const Arguments& arguments) {
  Session& session = Session::get();
  if (recording()) {
    Session::Lock lock(session);
    site_ = &session.recorder().poll_begin(id(), caller_, arguments, absorbed_);
  } else {
    if (engine::has_threads()) session.replayer().pass_reads();
    session.insist(session.replayer().poll(id(), caller_, arguments, must_succeed_));
    if (!must_succeed_) session.supervisor().moves();
  }
}

void Call::tested(bool success) {
  if (!recording()) return;
  Session& session = Session::get();
  Session::Lock lock(session);
  session.recorder().poll_end(*site_, absorbed_, success);
}

}  // namespace reprise::mcapi
