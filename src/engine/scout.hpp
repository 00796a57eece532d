// A copy of this process that runs ahead to the program's next call, and says whether that is the one in the log.
//
// Solo replay: what others wrote between two calls of this rank, it may have read there or not, and only the program's own
// code can tell which. So a copy goes there first. It may do nothing that anybody could notice; before it does, it ends.
#pragma once

#include <optional>

namespace reprise::engine {

// Stopped: it was about to do something that could be noticed. Lost: it could not be sent, or did not come back.
enum class ScoutReport { Fits, Differs, Stopped, Lost };

inline bool g_scouting = false;  // this process is the copy

// In the copy: nothing; it returns into the program as it is. Only where the process has a single thread of the program's.
std::optional<ScoutReport> send_scout();

// The copy has come to a call.
[[noreturn]] void scout_found(bool fits);

}  // namespace reprise::engine
