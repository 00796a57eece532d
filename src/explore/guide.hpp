// Which options of a choice are tried: all of them, or fewer, where the space of all orders is too large.
//
// A reduction never invents anything: what it leaves is a part of the full search, run by run. It says how much it left
// out.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "explore/matcher.hpp"

namespace reprise::explore {

// A choice, and how the run came there.
struct Situation {
  const Matcher& matcher;
  const Choice& choice;
  std::uint64_t history = 0;  // a digest of all choices before
  std::size_t depth = 0;      // how many there were
  std::size_t given = 0;      // how many of these were prescribed
  std::uint64_t walk = 0;     // of random walks: which one
};

// One decision of an order, by what it is about and not by when it came: so that it can be demanded of other orders.
struct Constraint {
  Choice::About about = Choice::About::Receive;
  int rank = 0;
  std::uint32_t ordinal = 0;  // which of the rank's receives, questions or sends, from 0
  Option::Kind kind = Option::Kind::Take;
  int source = -1;  // the message that was taken or shown
  std::uint32_t number = 0;
  std::vector<std::uint32_t> reported;
  std::uint64_t place = 0;  // of a turn (OneSided); its ordinal counts those there
  std::uint64_t site = 0;   // for words
  std::uint32_t function = 0;
  std::uint32_t iteration = 0;  // how often the rank was there before

  bool is_about_same(const Constraint& other) const {
    return about == other.about && rank == other.rank && ordinal == other.ordinal && place == other.place;
  }
  bool is_same(const Constraint& other) const {
    return is_about_same(other) && kind == other.kind && source == other.source && number == other.number &&
           reported == other.reported;
  }
};
Constraint constraint_of(const Matcher& matcher, const Choice& choice, const Option& option);

// What is to be explored in full. Elsewhere one option is picked by chance (FPRS: Hybrid verification of MPI programs,
// chapter 3).
struct Focus {
  std::set<int> ranks;
  std::function<bool(std::uint64_t site)> covers;  // source lines, functions; null: none are named
  bool regions = false;                            // between reprise_explore_begin() and _end()
  bool any() const { return !ranks.empty() || covers || regions; }
};

struct GuideOptions {
  Focus focus;
  std::uint32_t loop_bound = 0;       // 0: none
  std::optional<std::uint32_t> mix;   // bounded mixing: so many choices after the last that was changed
  std::set<int> symmetric;            // ranks that stand for each other
  bool symmetric_by_history = false;  // those that have done the same so far
  bool random_walk = false;
  std::uint64_t seed = 0;
  // Who the receives from anybody of each rank took in a recorded run, and probes found: the first order is that one.
  std::vector<std::vector<int>> near;
  std::vector<Constraint> demanded;  // only orders of which this is true
};

class Guide {
 public:
  explicit Guide(GuideOptions options) : options_(std::move(options)) {}

  // Numbers of options. The first is taken now, the others are left to be tried. None: there is no such run. May be
  // called by several threads.
  std::vector<std::uint32_t> options(const Situation& situation);
  // What was left out so far: options, and of how many choices.
  std::uint64_t left_out() const { return left_out_.load(); }
  std::uint64_t choices_cut() const { return choices_cut_.load(); }
  bool reduces() const;
  const GuideOptions& settings() const { return options_; }

 private:
  bool in_focus(const Matcher& matcher, const Choice& choice, const Option& option) const;
  bool beyond_bounds(const Situation& situation) const;
  // Those that fit what is demanded. Nothing: nothing is demanded here.
  std::optional<std::vector<std::uint32_t>> as_demanded(const Situation& situation) const;
  std::optional<std::uint32_t> as_recorded(const Situation& situation) const;
  void drop_symmetric(const Situation& situation, std::vector<std::uint32_t>& tried) const;

  GuideOptions options_;
  std::atomic<std::uint64_t> left_out_{0};
  std::atomic<std::uint64_t> choices_cut_{0};
};

}  // namespace reprise::explore
