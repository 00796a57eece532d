// Where every rank is, in a run that hangs (and still runs) or was cut off: in which call, at which source line, and
// for whom it waits if the call says so.
//
// Of each log only the end matters, but calls are coded against what came before them, so it is read from its start;
// docs/show.md says how long that takes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/call_kind.hpp"
#include "analyze/run_end.hpp"
#include "analyze/source_lines.hpp"
#include "analyze/thread_deadlock.hpp"
#include "analyze/timeline.hpp"

namespace reprise::analyze {

enum class RankPlace {
  NotStarted,  // no log: it has not come out of MPI_Init
  Computing,   // in the program's own code, after the call
  Polling,     // its tests keep failing
  InCall,      // in the call
  Ended,       // it has ended by itself: finalized, exit, MPI_Abort
  Unreadable,
};

// A call that the rank is in, or made last.
struct PlacedCall {
  std::uint64_t number = 0;
  std::string function;
  CallKind kind;
  engine::Arguments arguments{};
  SourceLine at;
  std::string event;               // the name, if it is a named event
  std::uint64_t communicator = 0;  // uid; 0: none, or an unknown one
};

struct Position {
  std::uint32_t rank = 0;
  RankPlace place = RankPlace::NotStarted;
  std::optional<PlacedCall> call;
  std::optional<PlacedCall> posted;        // waiting or polling for requests: the one that was posted last
  std::optional<std::uint32_t> waits_for;  // world rank of the peer that the call names
  std::uint64_t failed_polls = 0;
  std::string ended;   // "SIGKILL"; empty while it runs
  bool moved = false;  // made calls while it was watched
  std::string trouble;
};

// Ranks in the same place.
struct PositionGroup {
  std::vector<Position> ranks;         // ascending, never empty
  std::vector<std::uint32_t> missing;  // in a collective call: members of the communicator that are not in it
};

struct Blocked {
  std::vector<PositionGroup> groups;  // the smallest first: the odd one out
  // Ranks that wait for each other in a circle, from the lowest on.
  std::vector<std::vector<std::uint32_t>> circles;
  std::vector<ThreadDeadlock> deadlocks;  // among the threads of a rank
};

class BlockedFinder {
 public:
  explicit BlockedFinder(SourceLines& lines) : lines_(lines) {}

  // Reads one rank's log to its end. False when that was not possible.
  bool add(int dir_fd, std::uint64_t trace_id, const RankEnd& rank);
  void add_without_log(std::uint32_t rank);
  // Looks again at ranks that run: who has made a call since?
  void look_again(int dir_fd, std::uint64_t trace_id);
  Blocked finish();

 private:
  PlacedCall placed(const Call& call, const Timeline& timeline);
  void place(Position& position, const RankEnd& rank, const Call& last, const Timeline& timeline);
  std::vector<std::uint32_t> missing_in(const PlacedCall& call) const;

  SourceLines& lines_;
  std::vector<Position> positions_;
  std::map<std::uint64_t, std::vector<std::uint32_t>> members_;  // by uid, of communicators in collective calls
};

}  // namespace reprise::analyze
