// Who else took part in a call of which only one rank's side was reported: a reproducer needs all of them.
#pragma once

#include <map>

#include "flow/verdict.hpp"

namespace reprise::flow {

// Memory beside a buffer is seen by one rank alone, while the program runs. Which calls of other ranks belong to its call
// is found in the logs, which are read once more, of one rank after the other: first to learn which collective or which
// message of its kind it was, then for the calls that were its counterparts.
class Counterparts {
 public:
  explicit Counterparts(Verdict& verdict);

  bool any() const { return !wanted_.empty(); }
  // Both for all ranks, first one, then the other.
  void locate(std::uint32_t rank, IntentionLog& log);
  void collect(std::uint32_t rank, IntentionLog& log);
  // The violations have them now; what they point to is in the logs that collect() has read.
  void finish();

 private:
  // The n-th collective on a communicator; the n-th message of a sender to a receiver with a tag.
  struct Name {
    std::uint64_t comm = 0;
    std::uint64_t number = 0;
    bool is_message = false;
    std::uint32_t from = 0, to = 0;
    int tag = 0;
    auto operator<=>(const Name&) const = default;
  };
  struct Wanted {
    std::uint32_t rank = 0;
    std::uint64_t call = 0;
    std::vector<Violation*> violations;
    std::optional<Name> name;
  };
  template <class See>
  static void walk(std::uint32_t rank, IntentionLog& log, See see);

  std::vector<Wanted> wanted_;
  std::map<Name, std::vector<Part>> parts_;  // of those that are wanted, by rank
};

}  // namespace reprise::flow
