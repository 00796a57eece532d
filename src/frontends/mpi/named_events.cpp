// reprise_event (include/reprise/reprise.h): the program names a moment. Recorded and compared like a call.
//
// In MPI's folder because of its thread state: what an operation or attribute function of the program says while MPI
// calls it back comes in an order of MPI's own, and would stand between a call and its outcome.
#include "engine/session.hpp"
#include "frontends/mpi/entry.hpp"
#include "frontends/mpi/live/live.hpp"

extern "C" {

// `caller` is where the event is said to be: for stubs that stand between the program and us.
REPRISE_INTERPOSED void reprise_event_at(const char* name, const void* caller) {
  const reprise::engine::Mode mode = reprise::engine::mode();
  if (mode != reprise::engine::Mode::Record && mode != reprise::engine::Mode::Replay) return;
  if (!reprise::frontends::t_inside) reprise::engine::Session::get().event(name, caller);
}

REPRISE_INTERPOSED void reprise_event(const char* name) { reprise_event_at(name, REPRISE_CALLER); }

// reprise_explore_begin (1) and reprise_explore_end (-1).
REPRISE_INTERPOSED void reprise_explore_region(int step) {
  reprise::mpi::live::g_regions.fetch_add(step, std::memory_order_relaxed);
}

}  // extern "C"
