// One run of all virtual ranks: what they do is told to a matcher, and its choices are taken as given, as far as they
// are given, and then as a guide says.
#pragma once

#include <chrono>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/category.hpp"
#include "explore/guide.hpp"
#include "explore/matcher.hpp"
#include "virtual/stage.hpp"

namespace reprise::explore {

// A choice that was made.
struct Step {
  std::uint32_t option = 0;
  std::uint32_t options = 0;
  std::uint64_t digest = 0;  // of what there was to choose: the same in every run that came here
  // Which options are tried there, the likeliest first, if they are not all; and what this one means.
  std::vector<std::uint32_t> tried;
  Constraint meaning;

  bool deviates() const { return !tried.empty() && tried.front() != option; }
};

using engine::Category;

// Where a rank is, or was.
struct Place {
  int rank = 0;
  std::uint32_t thread = 0;
  std::uint64_t site = 0;  // a return address
  std::uint32_t function = 0;
  std::string detail;        // "from 2, tag 5"
  std::uint64_t holder = 0;  // of a lock: where it was taken that this one waits for
};

struct Problem {
  Category category = Category::Deadlock;
  std::vector<Place> places;
  std::int64_t number = 0;  // signal, exit status, error class
  std::string words;
  bool needs_unbuffered = false;
};

struct RunResult {
  bool counts = true;    // false: there is no such run
  bool cut_off = false;  // by a bound
  std::vector<Step> steps;
  std::vector<Problem> problems;
  // Per rank and receive: which message it took ("2.0": the first of rank 2), "cancelled", or nothing.
  std::vector<std::vector<std::string>> taken;
  std::vector<int> blocked;                   // ranks
  std::vector<std::string> output;            // per rank, if it was kept
  // If contents were wanted: what each rank has done and heard (Matcher::history_of), and where something was received.
  std::vector<std::uint64_t> histories;
  std::vector<Place> received_at;
  std::set<std::uint64_t> decided_too_early;  // Matcher::decided_too_early
  bool has_regions = false;                   // the program says what is to be explored
  bool has_windows = false;                   // one-sided communication
  std::string trouble;                        // it could not be played at all
};

struct RunOptions {
  Buffering buffering = Buffering::Infinite;
  std::uint32_t poll_bound = 2;
  std::chrono::milliseconds step_timeout{10000};
  std::set<std::uint64_t> cancelled_sites;
  std::string output;  // a directory: what the ranks write goes there
  std::string trace;   // a directory: the run is recorded
  std::string files;   // a directory: the ranks work there
  std::uint64_t trace_id = 0;
  Guide* guide = nullptr;       // none: every option is tried, in the order in which they come
  std::uint64_t walk = 0;       // Situation::walk
  bool wants_contents = false;  // digests of messages
  std::uint64_t disturbed = 0;  // Stage::disturbed
};

// Plays on one stage, whose server is ready.
class Run {
 public:
  Run(virtual_world::Stage* stage, const RunOptions& options);
  RunResult play(const std::vector<std::uint32_t>& given);

 private:
  // The option that is taken; none if there is no such run.
  std::optional<std::uint32_t> decide(const Choice& choice, const std::vector<std::uint32_t>& given, RunResult& result);
  struct RankEnd {
    bool finished = false;  // MPI_Finalize
    bool over = false;      // the process has ended
    std::int32_t wait_status = 0;
  };

  void begin();
  bool await_quiescence(RunResult& result);
  void read_scripts(RunResult& result);
  void read_script(int rank, RunResult& result);
  void look_for_crowds(RunResult& result) const;
  void note_end(int rank, RunResult& result);
  void reply(int rank, const std::vector<const Answer*>& answers);
  void resume(const std::vector<Answer>& answers);
  // Has accesses to windows carried out by their targets, until none is due. False: one takes too long.
  bool serve_accesses(RunResult& result);
  void read_one_sided(int rank, virtual_world::Act act, const std::uint64_t* words, std::size_t count, RunResult& result);
  void look_for_conflicts(RunResult& result);
  void dismiss();
  void clear_output() const;
  void read_output(RunResult& result) const;
  void read_histories(RunResult& result) const;
  std::uint64_t digest_of(const Choice& choice) const;
  void conclude(RunResult& result);
  // Where its threads wait, and for what; otherwise where it was last seen.
  std::vector<Place> places_of(int rank) const;
  Place place_of(int rank) const { return places_of(rank).front(); }
  std::string awaited(int rank, const Question& question) const;
  std::string awaited_lock(int item) const;
  void look_for_leftovers(RunResult& result);
  bool stuck_anyway(const std::vector<int>& blocked) const;
  static bool is_stalled(const RunResult& result);

  virtual_world::Stage* stage_;
  RunOptions options_;
  Matcher matcher_;
  std::vector<RankEnd> ends_;
  std::vector<std::vector<Place>> locked_;  // by rank: threads that wait for each other
  std::vector<bool> waiting_;               // ranks that wait for a reply
  std::uint64_t history_ = 0;               // of the choices
  bool fatal_ = false;                      // the whole job would be over
  bool livelock_ = false;
};

}  // namespace reprise::explore
