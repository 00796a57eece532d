// How a run ended: which rank ended how, and which of them was probably the cause.
//
// When one rank dies, the launcher ends the others, so the trace is full of deaths that explain nothing. What helps:
// SIGTERM is the launcher's own doing, and so is SIGKILL when several ranks got it (Hydra); an MPI_Abort, a crash or
// an exit status is not. Among equals, the order of the lines in `exits` (see trace/format.hpp) decides: Open MPI's
// mpirun reaps the first victim before it ends anybody else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/format.hpp"
#include "trace/manifest.hpp"

namespace reprise::analyze {

struct Exit {
  std::string host;
  pid_t pid = 0;
  int wait_status = 0;
  bool launcher = false;  // the command that `reprise record` itself started
};

struct RankEnd {
  std::uint32_t rank = 0;
  std::uint32_t thread = 0;  // of the rank; 0 is the main one, which stands for the rank
  std::string node;          // MCAPI: which that thread was
  std::string host;
  pid_t pid = 0;
  std::uint64_t calls = 0;
  trace::End end;                    // what the rank itself could still say
  std::optional<int> wait_status;    // what its parent saw
  bool running = false;              // its process is there, on this machine
  std::optional<std::size_t> order;  // among all exits that were seen
  std::string trouble;               // the log could not be read: why
};

struct RunEnd {
  std::vector<RankEnd> ranks;          // ascending
  std::uint32_t world = 0;             // how many ranks there were; 0 if no log says it
  std::vector<std::uint32_t> missing;  // ranks without a log
  std::vector<std::uint32_t> stopped;  // ranks whose recording had to stop (disk full)
  std::optional<std::uint32_t> cause;  // the rank that probably ended the run
  bool running = false;                // some rank is; nothing is known of the end yet
  std::string words;                   // "SIGKILL of rank 2", "exit status 0"
};

// The lines of the file `exits`; what does not fit is skipped, for a launcher may be killed in the middle of a line.
std::vector<Exit> parse_exits(std::string_view text);

// One rank's end in words: "SIGKILL", "MPI_Abort(3)", "exit status 3", "finalized".
std::string rank_end_words(const RankEnd& end);
// The same as a shell would report it; nullopt when nobody saw the end.
std::optional<int> rank_exit_code(const RankEnd& end);

// One such line, with its line feed. The launcher's has a fourth word that says so.
std::string exit_line(const Exit& exit);

// Puts a run's end together.
RunEnd judge_run_end(std::vector<RankEnd> ranks, std::uint32_t world, const std::vector<Exit>& exits);

// The same from a trace on disk. `ranks` are those that have a log. Who saw the launcher's end says so: the file may
// lack it (disk full).
RunEnd read_run_end(int dir_fd, const trace::Manifest& manifest, const std::vector<std::uint32_t>& ranks,
                    const std::optional<Exit>& launcher = std::nullopt);

}  // namespace reprise::analyze
