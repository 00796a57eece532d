#include "explore/feasibility.hpp"

#include <map>
#include <tuple>

#include "explore/matcher.hpp"

namespace reprise::explore {

Feasibility::Feasibility(const Matcher& matcher) : matcher_(matcher) {
  Node count = 0;
  for (const auto& rank : matcher.ranks_) {
    first_.push_back(count);
    count += rank.events;
  }
  first_arrival_ = count;
  count += static_cast<Node>(matcher.messages_.size());
  predecessors_.resize(count);
  alternatives_of_.resize(count);
  waits_.resize(count);
  add_orders();
  for (int rank = 0; rank < matcher.ranks(); ++rank) add_receives(rank);
  add_looks();
}

void Feasibility::before(Node earlier, Node later) {
  predecessors_[later].push_back(earlier);
  ++waits_[earlier];
}

void Feasibility::before_one_of(Node earlier, Node one, Node other) {
  const auto number = static_cast<std::uint32_t>(alternatives_.size());
  alternatives_.push_back({earlier});
  alternatives_of_[one].push_back(number);
  alternatives_of_[other].push_back(number);
  ++waits_[earlier];
}

void Feasibility::add_orders() {
  for (int rank = 0; rank < matcher_.ranks(); ++rank)
    for (std::uint32_t i = 1; i < matcher_.at(rank).events; ++i) before(event(rank, i - 1), event(rank, i));
  std::map<std::tuple<int, int, std::uint64_t>, int> last;
  for (int i = 0; i < static_cast<int>(matcher_.messages_.size()); ++i) {
    const Message& message = matcher_.mail(i);
    before(event(message.source, message.sent_at), arrival(i));
    auto [found, first] = last.try_emplace({message.source, message.dest, message.comm}, i);
    if (!first) before(arrival(found->second), arrival(i));
    found->second = i;
  }
  for (const auto& seen : matcher_.evidence_) before(arrival(seen.message), event(seen.rank, seen.event));
  for (const auto& fixed : matcher_.precedences_)
    before(event(fixed.earlier_rank, fixed.earlier), event(fixed.later_rank, fixed.later));
}

void Feasibility::add_receives(int rank) {
  for (const int number : matcher_.at(rank).receives) {
    const Receive& receive = matcher_.at_receive(number);
    if (receive.took >= 0 && receive.cancel_at) before(arrival(receive.took), event(rank, *receive.cancel_at));
    if (!receive.decided()) continue;
    for (const int other : matcher_.at(rank).mail) {
      const Message& message = matcher_.mail(other);
      if (other == receive.took || !Matcher::accepts(receive.wanted, message)) continue;
      // What an earlier receive has taken is no concern of this one. (They are numbered in the order of posting.)
      if (message.taken_by >= 0 && message.taken_by <= number) continue;
      if (receive.cancelled) {
        before(event(rank, *receive.cancel_at), arrival(other));
        continue;
      }
      if (matcher_.mail(receive.took).source == message.source) {
        if (receive.took > other) before(event(rank, receive.posted_at), event(rank, receive.posted_at));  // overtaken
        continue;
      }
      before_one_of(arrival(receive.took), arrival(other), event(rank, receive.posted_at));
    }
  }
}

void Feasibility::add_looks() {
  for (const auto& look : matcher_.looks_) {
    if (look.message >= 0) {
      before(arrival(look.message), event(look.rank, look.event));
      continue;
    }
    for (const int other : matcher_.at(look.rank).mail) {
      const Message& message = matcher_.mail(other);
      if (!Matcher::accepts(look.wanted, message)) continue;
      if (message.taken_by >= 0 && matcher_.at_receive(message.taken_by).posted_at < look.event) continue;
      before(event(look.rank, look.event), arrival(other));
    }
  }
}

bool Feasibility::possible() {
  std::vector<Node> free;
  for (Node node = 0; node < waits_.size(); ++node)
    if (waits_[node] == 0) free.push_back(node);
  std::size_t placed = 0;
  const auto release = [&](Node node) {
    if (--waits_[node] == 0) free.push_back(node);
  };
  while (!free.empty()) {
    const Node node = free.back();
    free.pop_back();
    ++placed;
    for (const Node earlier : predecessors_[node]) release(earlier);
    for (const std::uint32_t number : alternatives_of_[node]) {
      Alternative& alternative = alternatives_[number];
      if (!alternative.open) continue;
      alternative.open = false;
      release(alternative.earlier);
    }
  }
  return placed == waits_.size();
}

}  // namespace reprise::explore
