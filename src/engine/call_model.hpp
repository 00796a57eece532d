// Predicts the next call of a rank: which call site, with which arguments. Calls that come as predicted cost the trace
// nothing but a counter, so a loop is nearly free however long it runs.
//
// Recorder, replayer and the offline reader run this same model over the same history, so it must depend on nothing
// but the log: no addresses, no handles, no time.
//
//  - The call site is predicted from the two sites before it. A prediction is replaced only after it failed twice
//    in a row, so that leaving an inner loop costs one miss, not two.
//  - Each argument is predicted per site by the rule that was right last time: the same value, the same step (loops
//    over ranks), or the source of the last blocking wildcard receive (a master that answers its worker).
#pragma once

#include <array>
#include <cstdint>

#include "trace/format.hpp"

namespace reprise::engine {

inline constexpr std::uint32_t kNoSite = UINT32_MAX;

// Arguments in their run-independent form. Absent arguments are 0.
enum Argument : unsigned { kComm = 0, kPeer = 1, kTag = 2, kBytes = 3 };
using Arguments = std::array<std::int64_t, trace::kArguments>;

// The same on every MPI (their own constants differ).
inline constexpr std::int64_t kAnySource = -1;
inline constexpr std::int64_t kProcNull = -2;
inline constexpr std::int64_t kRootItself = -3;  // MPI_ROOT of an intercommunicator
inline constexpr std::int64_t kAnyTag = -1;
inline constexpr std::int64_t kNoComm = -1;  // MPI_COMM_NULL, or a communicator that Reprise has not seen made

// What the model remembers of one call site.
class SiteHistory {
 public:
  // The most common case, and the one that must be fast: the same arguments again, and nothing to learn from it.
  bool repeats(const Arguments& values) const { return steady_ && values == last_; }

  const Arguments& last() const { return last_; }

  Arguments predict(std::int64_t last_source) const {
    Arguments values;
    for (unsigned i = 0; i < trace::kArguments; ++i) values[i] = predict(i, last_source);
    return values;
  }

  void learn(const Arguments& values, std::int64_t last_source) {
    steady_ = true;
    for (unsigned i = 0; i < trace::kArguments; ++i) {
      const std::int64_t step = wrapping_add(values[i], -static_cast<std::uint64_t>(last_[i]));
      if (values[i] != predict(i, last_source)) {
        if (values[i] == last_source) rule_[i] = Rule::Source;
        else if (step == step_[i]) rule_[i] = Rule::Step;
        else rule_[i] = Rule::Same;
      }
      step_[i] = step;
      last_[i] = values[i];
      steady_ &= rule_[i] == Rule::Same && step == 0;
    }
  }

 private:
  enum class Rule : std::uint8_t { Same, Step, Source };

  // A hostile log may hold any values; signed overflow must not become undefined behaviour.
  static std::int64_t wrapping_add(std::uint64_t a, std::uint64_t b) { return static_cast<std::int64_t>(a + b); }

  std::int64_t predict(unsigned i, std::int64_t last_source) const {
    switch (rule_[i]) {
      case Rule::Step: return wrapping_add(last_[i], step_[i]);
      case Rule::Source: return last_source;
      default: return last_[i];
    }
  }

  Arguments last_{};
  Arguments step_{};
  std::array<Rule, trace::kArguments> rule_{};
  bool steady_ = true;  // every rule says "the same", and learning the same again would change nothing
};

class CallModel {
 public:
  std::uint32_t predicted_site() const { return next_[context_].site; }
  std::uint32_t previous_site() const { return previous_; }
  std::int64_t last_source() const { return last_source_; }
  void set_last_source(std::int64_t source) { last_source_ = source; }

  // The call happened at `site`: learn it and move on.
  void advance(std::uint32_t site) {
    Guess& guess = next_[context_];
    if (guess.site == site) {
      guess.sure = true;
    } else if (guess.sure) {
      guess.sure = false;
    } else {
      guess = {site, true};
    }
    context_ = (previous_ * 0x9e3779b1u ^ site * 0x85ebca6bu) >> (32 - kContextBits);
    previous_ = site;
  }

 private:
  static constexpr unsigned kContextBits = 12;
  struct Guess {
    std::uint32_t site = kNoSite;
    bool sure = false;
  };
  std::array<Guess, 1u << kContextBits> next_{};
  std::uint32_t context_ = 0;
  std::uint32_t previous_ = 0;
  std::int64_t last_source_ = 0;
};

}  // namespace reprise::engine
