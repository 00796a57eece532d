// Runs when the preload library is loaded, into whatever process that may be.
#include "frontends/sys/load.hpp"

#include <malloc.h>

#include "frontends/sys/read.hpp"
#include "frontends/sys/virtual_time.hpp"
#include "frontends/threads/sync.hpp"

namespace {

// What a program sends without having written to it is what the memory held before, and there the MPI library has had a hand in
// it, which is not there in a solo replay. Large blocks are zeros instead: malloc takes them from the system, always.
void take_large_blocks_from_the_system() {
  constexpr int kLarge = 128 << 10;  // malloc's own limit, before it raises it
  mallopt(M_MMAP_THRESHOLD, kLarge);
}

// Reads the settings before the program changes its environment, and registers for exit before the program does.
__attribute__((constructor)) void arm() {
  reprise::sys::be_born();
  if (reprise::engine::mode() == reprise::engine::Mode::Passive) return;
  if (reprise::engine::Session::get().configuration().mode == reprise::engine::Mode::Explore) {
    reprise::sys::begin_virtual_time();
    reprise::sys::write_nowhere();
  }
  const reprise::engine::Configuration& settings = reprise::engine::Session::get().configuration();
  if (!settings.data.empty() || settings.solo_rank) take_large_blocks_from_the_system();
  reprise::sys::find_clocks();
  reprise::sys::find_random_sources();
  reprise::sys::find_random_devices();
  reprise::sys::find_process_ids();
  reprise::sys::find_timed_waits();
  reprise::threads::find_mutexes();
  reprise::threads::find_conditions();
  reprise::threads::find_rwlocks();
  reprise::threads::find_semaphores();
  reprise::threads::find_others();
  reprise::threads::find_guards();
  reprise::threads::find_life();
  reprise::sys::begin_alone();
}

}  // namespace
