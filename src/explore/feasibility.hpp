// Is there an order in time in which a run can have happened?
//
// The matcher lets messages be as late as they like and fixes only who takes which. Whether that fits together follows from
// when each message can have *arrived*. Arrivals from one sender on one communicator keep their order (MPI 4.0, 3.5). What
// arrives is taken by the earliest pending receive that accepts it; what is there when a receive is posted can be taken
// by it. From this follow precedences between events (u before v) and, for a receive r that took m while it accepted m2,
// which a later receive took or nobody did, an alternative: m arrived before m2 did, or before r was posted.
//
// Read backwards, from the end of the run, an alternative says: m's arrival may be placed once one of two events has been.
// Placing an event never forbids another one, so placing whatever can be placed finds an order if there is one.
#pragma once

#include <cstdint>
#include <vector>

namespace reprise::explore {

class Matcher;

class Feasibility {
 public:
  explicit Feasibility(const Matcher& matcher);
  bool possible();

 private:
  using Node = std::uint32_t;

  Node event(int rank, std::uint32_t number) const { return first_[static_cast<std::size_t>(rank)] + number; }
  Node arrival(int message) const { return first_arrival_ + static_cast<Node>(message); }
  void before(Node earlier, Node later);
  void before_one_of(Node earlier, Node one, Node other);
  void add_orders();
  void add_receives(int rank);
  void add_looks();

  const Matcher& matcher_;
  std::vector<Node> first_;
  Node first_arrival_ = 0;
  struct Alternative {
    Node earlier;
    bool open = true;
  };
  std::vector<std::vector<Node>> predecessors_;
  std::vector<std::vector<std::uint32_t>> alternatives_of_;  // node -> those that it satisfies
  std::vector<std::uint32_t> waits_;                         // node -> how many it still waits for, read backwards
  std::vector<Alternative> alternatives_;
};

}  // namespace reprise::explore
