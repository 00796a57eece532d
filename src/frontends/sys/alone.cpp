// A program without MPI is recorded, and replayed, from before main to its end, as a job of one rank.
#include <algorithm>

#include "engine/session.hpp"
#include "frontends/function_table.hpp"
#include "frontends/sys/load.hpp"
#include "frontends/sys/own_crash.hpp"

namespace reprise::sys {

void begin_alone() {
  engine::Session& session = engine::Session::get();
  if (!session.configuration().alone) return;
  session.wake(frontends::all_functions());
  engine::Identity identity;
  identity.ranks = std::max(1u, session.configuration().ranks);
  identity.library = "none";
  identity.thread_level = "none";
  session.attach(identity, {});
  if (engine::mode() == engine::Mode::Record) note_own_crash();
}

}  // namespace reprise::sys
