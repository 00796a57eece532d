// The threads of an explored rank: they run one at a time (engine/baton.hpp), and when all of them wait, the rank does.
#include <cstdlib>

#include "engine/baton.hpp"
#include "engine/session.hpp"
#include "frontends/mpi/live/live.hpp"
#include "frontends/sys/virtual_time.hpp"
#include "frontends/threads/staged_waits.hpp"

namespace reprise::mpi::live {

namespace {

bool everybody_waits(bool somebody_pauses) {
  for (const threads::StagedWait& wait : threads::staged_waits())
    actor().note_blocked({wait.thread, wait.function, reinterpret_cast<std::uint64_t>(wait.caller),
                          virtual_world::as_word(wait.holder), wait.taken_at});
  return actor().wait_together(somebody_pauses);
}

}  // namespace

// For benchmarks: what a search is like whose threads do as they like.
void prepare_threads() {
  if (std::getenv("REPRISE_FREE_THREADS")) return;
  engine::Baton::get().prepare(
      {[] { return engine::t_stream->place; }, sys::virtual_now, sys::advance_virtual_time_to, everybody_waits});
}

}  // namespace reprise::mpi::live
