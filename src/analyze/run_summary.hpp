// A whole run in numbers: calls per function, messages and bytes, who sent how much to whom, and the places where the
// outcome could have been another one.
//
// Logs are read one after the other, call by call. What is kept grows with the number of ranks and of call sites, never
// with the length of the run.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "analyze/call_filter.hpp"
#include "analyze/run_end.hpp"
#include "analyze/source_lines.hpp"

namespace reprise::analyze {

struct Traffic {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;

  void add(const Traffic& other) {
    messages += other.messages;
    bytes += other.bytes;
  }
};

struct FunctionCount {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;         // as logged: what the rank sends, or receives if it sends nothing
  std::uint64_t failed_polls = 0;  // tests that said "not yet"; a series of them is one call
  std::uint32_t ranks = 0;
};

// A source line whose outcome chance decides.
struct RacingSite {
  std::string function;
  SourceLine at;
  std::uint32_t ranks = 0;
  std::uint32_t last_rank = 0;      // that was counted
  std::uint64_t receives = 0;       // from any source
  std::uint64_t unknown = 0;        // of these, the sender never became known
  std::set<std::uint32_t> senders;  // world ranks
  std::uint32_t most_senders = 0;   // that one rank heard here
  std::uint64_t polls = 0;          // series of tests
  std::uint64_t failed_polls = 0;
  std::uint64_t completions = 0;    // calls that reported which requests were done
  std::set<std::uint32_t> indices;  // that were reported first

  // Was the outcome seen to vary? A receive that heard one sender only may be as good as a named one.
  bool varied() const { return most_senders > 1 || failed_polls > 0 || indices.size() > 1; }
};

struct Pair {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  Traffic traffic;
};

// Point-to-point messages as they were sent, by world rank. Sends are complete: each names its receiver.
struct TrafficMatrix {
  static constexpr std::uint32_t kMostRanks = 64;  // up to here every pair is kept
  static constexpr std::uint32_t kGroups = 16;     // above, ranks are taken together
  static constexpr std::size_t kTopPairs = 20;

  bool complete = true;           // `pairs` are all there are; otherwise the largest, by bytes
  std::vector<Pair> pairs;        // complete: by sender and receiver; otherwise the largest first
  std::uint32_t group_size = 1;   // ranks per group
  std::vector<Pair> group_pairs;  // from and to are numbers of groups; empty when complete
};

struct RankSummary {
  RankEnd end;
  std::uint64_t calls = 0;
  Traffic sent;
  Traffic received;  // as the others sent it
  std::string trouble;
};

struct RunSummary {
  std::uint64_t calls = 0;
  Traffic sent;
  Traffic sent_by_nodes;                // MCAPI
  std::uint64_t to_unknown = 0;         // messages whose receiver the logs do not tell
  std::uint64_t persistent_starts = 0;  // their messages are not counted: the call does not say which request it is
  std::uint64_t collective_calls = 0;
  std::uint64_t failed_polls = 0;
  std::uint64_t clock_reads = 0;
  std::map<std::string, std::uint64_t> events;  // named ones, by name
  std::uint64_t events_left_out = 0;            // of names beyond the first thousand
  std::map<std::string, FunctionCount> functions;
  std::vector<RacingSite> racing;  // those that varied first, then by number of outcomes
  TrafficMatrix matrix;
  std::vector<RankSummary> ranks;
  std::uint64_t notes = 0;
};

class Summarizer {
 public:
  // `world`: how many ranks there were.
  Summarizer(std::uint32_t world, const CallFilter& filter, SourceLines& lines);

  // Reads one rank's logs to their ends. False when that was not possible; the summary says why.
  bool add(int dir_fd, std::uint64_t trace_id, const RankEnd& rank);
  RunSummary finish();

 private:
  struct Site;
  struct Row;
  void add_thread(Result<Timeline> timeline, std::uint32_t rank, RankSummary& facts, Row& all,
                  std::vector<engine::CommunicatorRecord>* known);
  void count(const Call& call, const Timeline& timeline, Site& site, Row& row);
  void count_outcomes(const Call& call, const Timeline& timeline, Site& site, Row& row);
  void add_sites(std::uint32_t rank, const std::vector<Site>& sites, const Timeline& timeline);
  void add_row(std::uint32_t sender, const Row& row);

  std::uint32_t world_;
  const CallFilter& filter_;
  SourceLines& lines_;
  RunSummary summary_;
  std::vector<Traffic> received_;
  std::map<std::string, RacingSite> racing_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Traffic> groups_;
};

}  // namespace reprise::analyze
