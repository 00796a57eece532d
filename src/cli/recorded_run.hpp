// Facts about a recorded run that a replay needs before it starts, and what is said about how it ended.
#pragma once

#include <string>
#include <vector>

#include "analyze/run_end.hpp"
#include "cli/monitor.hpp"
#include "cli/trace_dir.hpp"

namespace reprise::cli {

struct Recorded {
  analyze::RunEnd end;
  std::vector<Monitor::Log> logs;
  bool one_host = true;  // all ranks ran on this machine
  double seconds = 0;    // how long the run took
};

// Throws UserError: logs are missing or unreadable, or a program is not the recorded one.
// `only`: these ranks run, each for itself, and the logs of the others may be missing. Empty: all. `elsewhere`: where
// the program is now, if it is not where it was.
Recorded read_recorded(const OpenTrace& trace, const std::vector<std::uint32_t>& only = {},
                       const std::string& elsewhere = {});
void check_architecture(const OpenTrace& trace);
// Throws UserError if the trace says that it cannot be replayed; names what cannot be forced.
void refuse_what_cannot_be_replayed(const OpenTrace& trace);
// A trace names a command. One's own is run without a question.
void confirm(const OpenTrace& trace, const std::vector<std::string>& command, const std::string& directory, bool yes);
Patience patience_for(const Recorded& recorded, bool known_run, bool local, double wanted);

// The words for the end of a run that did not end by itself.
std::string how_it_ended(const Recorded& recorded, const trace::Manifest& manifest);
// As the record command ended or, if it did not live so long, as the rank did that ended the run.
int recorded_status(const Recorded& recorded, const trace::Manifest& manifest);

}  // namespace reprise::cli
