// A replay that has been started, to its end: listens to the ranks, ends the job when it is over, and says how it went.
#pragma once

#include "cli/job.hpp"
#include "cli/monitor.hpp"
#include "cli/recorded_run.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

struct ReplayManners {
  bool quiet = false;
  bool other_command = false;  // not the recorded one: it need not end alike
  std::size_t nodes = 0;       // of MCAPI, that run alone; 0: all do
};

// The exit status of the replay command.
int watch_replay(Job& job, Monitor& monitor, const OpenTrace& trace, const Recorded& recorded,
                 const ReplayManners& how);

// Of a rank that was lost: how it ended is known to its launcher, which may be a little slower than the connection. So is the launcher's own
// end, which is returned if it has come.
std::optional<int> hear_how_it_ended(Job& job, Monitor& monitor, std::uint32_t rank);

// The same in a debugger: what the rank has to say is said, but nothing is ended. The debugger's exit status.
int watch_debugger(Job& job, Monitor& monitor, const OpenTrace& trace);

}  // namespace reprise::cli
