// The replay command's end of the supervision (engine/supervision.hpp): knows where every rank is, and decides when
// the replay is over although no rank can say so: somebody diverged, everybody waits, or all have reached the end of a
// run that was cut off.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analyze/thread_deadlock.hpp"
#include "base/process.hpp"
#include "cli/job_clock.hpp"
#include "engine/supervision.hpp"

namespace reprise::cli {

struct MonitoredRank {
  std::uint64_t total = 0;  // calls in its log
  bool stopped = false;     // its recording had to stop before the run did
  bool ends = false;        // it came to its end by itself
  UniqueFd socket;
  std::string received;  // of the current line
  pid_t pid = 0;
  bool arrived = false;  // at MPI_Init
  bool connected = false;
  bool gone = false;        // was connected, and its process has ended
  std::uint64_t event = 0;  // calls made so far, the current one included
  engine::RankState state = engine::RankState::Running;
  std::int64_t peer = -1;     // the world rank that it waits for, if it is one
  JobClock::Time changed{0};  // when it last moved
};

struct Verdict {
  enum class Kind {
    Diverged,  // report says how
    Trouble,   // text says why a rank could not be replayed
    Stalled,   // nobody can go on; rank is the one to look at first
    Computes,  // rank has made no call for longer than the recorded run took altogether
    Lingers,   // all ranks have ended, but the command that started them goes on
    Lost,      // rank ended by itself before its log did
    Ended,     // all are at the end of what was recorded
  };
  Kind kind = Kind::Ended;
  std::uint32_t rank = 0;
  engine::DivergenceReport report;
  std::string text;
};

// How long nothing may happen, in the job's own time (cli/job_clock.hpp).
struct Patience {
  std::chrono::milliseconds standstill;  // every rank waits in a call
  std::chrono::milliseconds computing;   // a rank is between two calls, or beyond its last
  std::chrono::milliseconds start;       // a rank has not come to MPI_Init, but others have
  std::chrono::milliseconds launch;      // the launcher, or MPI_Init itself, is at work
};

class Monitor {
 public:
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  ~Monitor();
  struct Log {
    std::uint64_t total = 0;  // calls
    bool stopped = false;
    bool ends = false;
    bool absent = false;  // this rank is not replayed
  };
  // `everywhere`: ranks may come from other nodes.
  Monitor(const std::vector<Log>& logs, bool everywhere, const Patience& patience);

  // For REPRISE_MONITOR.
  const std::string& address() const { return address_; }
  // For REPRISE_PLACES: the file where ranks on this machine keep their places; empty if there is none.
  std::string places() const;

  // Listens for at most so long. A verdict is given once; after it, call release() or abort().
  std::optional<Verdict> step(std::chrono::milliseconds time);

  void release() { broadcast("release\n"); }
  void abort() { broadcast("abort\n"); }

  const std::vector<MonitoredRank>& ranks() const { return ranks_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Of ranks that were cut off while their threads waited for each other.
  const std::vector<analyze::DeadlockNote>& deadlocks() const { return deadlocks_; }
  bool all_connected() const;
  bool any_connected() const;
  bool heard_something() const { return heard_; }  // in the last step
  JobClock::Time job_time() const { return clock_.now(); }
  bool all_gone() const;                           // of those that were connected
  // How a rank's process ended (a wait status), if its launcher has said so.
  std::optional<int> end_of(std::uint32_t rank) const;
  // A rank that has not come to the end of its log.
  std::optional<std::uint32_t> unfinished_rank() const;

 private:
  struct Newcomer {
    UniqueFd socket;
    std::string received;
  };

  void open_places();
  void read_last_place(std::uint32_t rank);
  void accept_newcomer();
  void hear_newcomer(std::size_t index);
  void hear(std::uint32_t rank);
  void understand_lines(std::uint32_t number);
  void understand(std::uint32_t rank, std::string_view line);
  void greet(Newcomer& newcomer, std::string_view line, std::string_view rest);
  void broadcast(std::string_view line);
  std::optional<Verdict> judge();
  std::optional<Verdict> judge_stall(std::chrono::milliseconds patience) const;
  std::optional<Verdict> judge_start() const;
  std::optional<Verdict> judge_computing() const;
  std::uint32_t everybody_waits_for(std::uint32_t rank) const;

  std::string token_;
  std::string address_;
  UniqueFd listener_;
  UniqueFd places_file_;
  const std::atomic<std::uint64_t>* places_ = nullptr;
  std::vector<MonitoredRank> ranks_;
  std::vector<Newcomer> newcomers_;
  std::vector<std::string> warnings_;
  std::vector<analyze::DeadlockNote> deadlocks_;
  std::map<pid_t, int> ended_;  // processes that did not end well -> wait status
  std::optional<Verdict> verdict_;
  bool judged_ = false;
  bool heard_ = false;
  Patience patience_;
  JobClock clock_;
  JobClock::Time last_arrival_{0};
};

}  // namespace reprise::cli
