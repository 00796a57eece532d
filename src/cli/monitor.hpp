// The replay command's end of the supervision (engine/supervision.hpp): knows where every rank is, and decides when
// the replay is over although no rank can say so: somebody diverged, everybody waits, or all have reached the end of a
// run that was cut off.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "engine/supervision.hpp"

namespace reprise::cli {

struct MonitoredRank {
  std::uint64_t total = 0;  // calls in its log
  bool stopped = false;     // its recording had to stop before the run did
  UniqueFd socket;
  std::string received;  // of the current line
  bool connected = false;
  bool gone = false;        // was connected, and its process has ended
  std::uint64_t event = 0;  // calls made so far, the current one included
  engine::RankState state = engine::RankState::Running;
  std::int64_t peer = -1;  // the world rank that it waits for, if it is one
  std::chrono::steady_clock::time_point changed;
};

struct Verdict {
  enum class Kind {
    Diverged,  // report says how
    Trouble,   // text says why a rank could not be replayed
    Stalled,   // nobody can go on; rank is the one to look at first
    Lost,      // rank ended by itself before its log did
    Ended,     // all are at the end of what was recorded
  };
  Kind kind = Kind::Ended;
  std::uint32_t rank = 0;
  engine::DivergenceReport report;
  std::string text;
};

class Monitor {
 public:
  struct Log {
    std::uint64_t total = 0;  // calls
    bool stopped = false;
  };
  // `everywhere`: ranks may come from other nodes.
  Monitor(const std::vector<Log>& logs, bool everywhere, std::chrono::milliseconds patience,
          std::chrono::milliseconds patience_for_start);

  // For REPRISE_MONITOR.
  const std::string& address() const { return address_; }

  // Listens for at most so long. A verdict is given once; after it, call release() or abort().
  std::optional<Verdict> step(std::chrono::milliseconds time);

  void release() { broadcast("release\n"); }
  void abort() { broadcast("abort\n"); }

  const std::vector<MonitoredRank>& ranks() const { return ranks_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  bool all_connected() const;
  bool any_connected() const;
  bool heard_something() const { return heard_; }  // in the last step
  bool all_gone() const;  // of those that were connected
  // A rank that has not come to the end of its log.
  std::optional<std::uint32_t> unfinished_rank() const;

 private:
  struct Newcomer {
    UniqueFd socket;
    std::string received;
  };

  void accept_newcomer();
  void hear_newcomer(std::size_t index);
  void hear(std::uint32_t rank);
  void understand(std::uint32_t rank, std::string_view line);
  void greet(Newcomer& newcomer, std::string_view line, std::string_view rest);
  void broadcast(std::string_view line);
  std::optional<Verdict> judge();
  std::optional<Verdict> judge_stall(std::chrono::steady_clock::time_point now, std::chrono::milliseconds patience);

  std::string token_;
  std::string address_;
  UniqueFd listener_;
  std::vector<MonitoredRank> ranks_;
  std::vector<Newcomer> newcomers_;
  std::vector<std::string> warnings_;
  std::optional<Verdict> verdict_;
  bool judged_ = false;
  bool heard_ = false;
  std::chrono::milliseconds patience_;
  std::chrono::milliseconds patience_for_start_;
  std::chrono::steady_clock::time_point last_arrival_;
};

}  // namespace reprise::cli
