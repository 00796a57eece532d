// What ranks had to say about the recording, one line each, as it happened: the file `notes` of a trace, which the
// manifest takes in when the run is over.
//
// The same notes are in the logs, in their place among the calls; here they can be read without decoding a log, and a
// rank that could not open a log at all can still say why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyze/thread_deadlock.hpp"
#include "trace/manifest.hpp"

namespace reprise::cli {

struct TraceNote {
  std::uint32_t rank = 0;
  std::string key;  // "unsupported", "not-replayable", "problem", "deadlock", "shadow" (bytes of shadow memory)
  std::string text;
};

// What does not fit is skipped: a rank may have been killed in the middle of a line.
std::vector<TraceNote> read_trace_notes(int dir_fd, const trace::Manifest& manifest);

// Of a note "not-solo": why a rank cannot be replayed alone, and where that is in the source.
std::string not_solo_text(const TraceNote& note);

// Those about deadlocks among threads; and what a person wants to know of them.
std::vector<analyze::DeadlockNote> deadlock_notes(const std::vector<TraceNote>& notes);
void say_deadlocks(const std::vector<analyze::DeadlockNote>& notes);

}  // namespace reprise::cli
