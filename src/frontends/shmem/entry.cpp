#include "frontends/shmem/entry.hpp"

#include "engine/session.hpp"
#include "frontends/mpi/live/refusal.hpp"

namespace reprise::shmem {

std::atomic<void*> g_functions[kFunctionCount + 1];

void* look_up(Function function) {
  const auto number = static_cast<std::size_t>(function);
  void* const found = mpi::look_up(kFunctionNames[number]);
  g_functions[number].store(found, std::memory_order_relaxed);
  return found;
}

void Entry::wake() const {
  if (engine::mode() == Mode::Armed) engine::Session::get().wake(frontends::all_functions());
  if (engine::mode() == Mode::Explore) mpi::live::refuse(name(), "OpenSHMEM");
}

}  // namespace reprise::shmem
