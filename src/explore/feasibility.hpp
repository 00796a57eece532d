// Is there an order in time in which a run can have happened?
//
// The matcher lets messages be as late as they like and fixes only who takes which. Whether that fits together follows
// from when each message can have *arrived*. Arrivals from one sender on one communicator keep their order
// (MPI 4.0, 3.5). What arrives is taken by the earliest pending receive that accepts it; what is there when a receive
// is posted can be taken by it. From this follow precedences between events (u before v) and, for a receive r that took
// m while it accepted m2, which a later receive took or nobody did, an alternative: m arrived before m2 did, or before
// r was posted.
//
// Read backwards, from the end of the run, an alternative says: m's arrival may be placed once one of two events has
// been. Placing an event never forbids another one, so placing whatever can be placed finds an order if there is one.
//
// What is looked at does not grow with the run: its past is left out (see past()). Where there is no past, because a
// receive from anybody stays open for the whole run, say, messages that their receivers have seen are settled after a
// while. Of these only remains that they were sent before they were seen. What else would follow from them is forgotten,
// and something might be held possible that is not.
#pragma once

#include <cstdint>
#include <vector>

#include "explore/matcher.hpp"

namespace reprise::explore {

class Feasibility {
 public:
  // As it is; or if this option were taken.
  explicit Feasibility(const Matcher& matcher) : Feasibility(matcher, nullptr, nullptr) {}
  Feasibility(const Matcher& matcher, const Choice* choice, const Option* option);
  bool possible();

  // What can be left out from now on, of a run that is possible: events and arrivals that can all have been before all
  // others, and that nothing to come can be before.
  struct Past {
    std::vector<std::uint32_t> events;  // by rank: how many of its first ones
    std::vector<int> messages;
  };
  Past past();

 private:
  using Node = std::uint32_t;

  Node event(int rank, std::uint32_t number) const {
    const std::uint32_t past = matcher_.at(rank).past;
    return number < past ? kPast : room_.first[static_cast<std::size_t>(rank)] + (number - past);
  }
  // None for a message that is settled.
  bool is_live(int message) const { return room_.arrivals[static_cast<std::size_t>(message)] != kNone; }
  Node arrival(int message) const { return room_.arrivals[static_cast<std::size_t>(message)]; }

  bool supposes(Option::Kind kind) const { return option_ && option_->kind == kind; }
  int took(int receive) const;
  bool cancelled(int receive) const;
  bool is_taken_by_earlier(int message, int receive) const;
  std::uint32_t taker_posted_at(int message) const;

  void before(Node earlier, Node later);
  void before_one_of(Node earlier, Node one, Node other);
  void seen_before(int message, Node event);
  // Some constraint to come may say that something else is before this one.
  std::vector<Node> not_yet_past() const;
  bool may_be_overtaken(int message) const;
  void add_orders();
  void add_receives(int rank);
  void add_looks();
  void add_supposed_refusal();

  const Matcher& matcher_;
  const Choice* choice_;
  const Option* option_;

  // Many of these are made in every run; they use the same memory one after the other.
  static constexpr std::uint32_t kNone = UINT32_MAX;
  static constexpr Node kPast = UINT32_MAX - 1;
  struct Alternative {
    Node earlier;
    bool open = true;
  };
  struct Link {
    std::uint32_t value;  // a node, or an alternative
    std::uint32_t next;   // a link
  };
  struct Room {
    std::vector<Node> first;                  // by rank: its first event
    std::vector<Node> arrivals;               // by message
    std::vector<std::uint32_t> waits;         // by node: how many it still waits for, read backwards
    std::vector<std::uint32_t> predecessors;  // by node: the first of a list of nodes
    std::vector<std::uint32_t> satisfies;     // by node: the first of a list of alternatives
    std::vector<Link> links;
    std::vector<Alternative> alternatives;
    std::vector<Node> free;
  };
  static Room& room();
  void link(std::uint32_t& list, std::uint32_t value) {
    room_.links.push_back({value, list});
    list = static_cast<std::uint32_t>(room_.links.size() - 1);
  }

  Room& room_;
  bool contradiction_ = false;
};

}  // namespace reprise::explore
