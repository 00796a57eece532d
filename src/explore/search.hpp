// All orders of a program: a depth-first search over the options of the choices that its runs come to.
//
// A run is repeated up to a choice by taking the same options again; each choice that a run made beyond what it was
// given leaves its other options to be tried. They are a stack, the deepest choice on top, from which all workers take.
// What is kept of a run is the list of its choices, so memory does not grow with the number of runs.
//
// If a guide prefers some options to others, those come first that deviate least from what it prefers.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "explore/run.hpp"

namespace reprise::explore {

struct Limits {
  std::uint64_t orders = UINT64_MAX;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct Totals {
  std::uint64_t orders = 0;
  std::uint64_t discarded = 0;
  std::uint64_t open = 0;  // options that are still to be tried
  bool stopped = false;    // by a limit, or by whoever called stop()
  bool cut_off = false;    // some runs were, by a bound
};

class Search {
 public:
  // Called for every run that counts, one at a time, with its number.
  using Visit = std::function<void(std::uint64_t order, RunResult& result)>;

  // `nearest_first`: by the number of deviations from what the guide prefers.
  Search(const Limits& limits, Visit visit, bool nearest_first = false)
      : limits_(limits), visit_(std::move(visit)), nearest_first_(nearest_first) {
    open_[0].push_back({});
    open_count_ = 1;
  }
  // Goes on with what another search has left.
  void continue_with(const std::vector<std::vector<std::uint32_t>>& left);
  std::vector<std::vector<std::uint32_t>> left();

  // A worker's whole life: takes options until there are none left. `play` makes a run.
  using Play = std::function<RunResult(const std::vector<std::uint32_t>& given)>;
  void work(const Play& play);
  void stop() { stopped_.store(true); }
  Totals totals();

 private:
  // One option that was not taken: the choices before it are those of a run that was made.
  struct Open {
    std::shared_ptr<const std::vector<Step>> path;
    std::size_t length = 0;
    std::uint32_t option = 0;
    std::vector<std::uint32_t> all;  // without a path: what another search has left

    std::vector<std::uint32_t> options() const;
  };

  bool take(Open& out);
  void leave_open(const Open& from, RunResult& result);
  bool over_limits() const;

  Limits limits_;
  Visit visit_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool nearest_first_;
  std::map<std::size_t, std::vector<Open>> open_;  // by deviations, if that matters: stacks
  std::size_t open_count_ = 0;
  int busy_ = 0;
  std::uint64_t orders_ = 0;
  std::uint64_t discarded_ = 0;
  bool cut_off_ = false;
  bool limited_ = false;
  std::atomic<bool> stopped_{false};
};

}  // namespace reprise::explore
