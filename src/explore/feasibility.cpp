#include "explore/feasibility.hpp"

#include <algorithm>
#include <map>

namespace reprise::explore {

Feasibility::Feasibility(const Matcher& matcher, const Choice* choice, const Option* option)
    : matcher_(matcher), choice_(choice), option_(option), room_(room()) {
  Node count = 0;
  room_.first.clear();
  for (const auto& rank : matcher.ranks_) {
    room_.first.push_back(count);
    count += rank.events + 1;
  }
  room_.arrivals.assign(matcher.messages_.size(), kNone);
  for (const auto& rank : matcher.ranks_)
    for (const int message : rank.live_mail) room_.arrivals[static_cast<std::size_t>(message)] = count++;
  room_.waits.assign(count, 0);
  room_.predecessors.assign(count, kNone);
  room_.satisfies.assign(count, kNone);
  room_.links.clear();
  room_.alternatives.clear();
  add_orders();
  for (int rank = 0; rank < matcher.ranks(); ++rank) add_receives(rank);
  add_looks();
  add_supposed_answer();
}

Feasibility::Room& Feasibility::room() {
  thread_local Room room;
  return room;
}

int Feasibility::took(int receive) const {
  if (supposes(Option::Kind::Take) && choice_->subject == receive) return option_->message;
  return matcher_.at_receive(receive).took;
}

bool Feasibility::cancelled(int receive) const {
  return (supposes(Option::Kind::Cancelled) && choice_->subject == receive) || matcher_.at_receive(receive).cancelled;
}

// Receives are numbered in the order of posting.
bool Feasibility::is_taken_by_earlier(int message, int receive) const {
  const int taker =
      supposes(Option::Kind::Take) && option_->message == message ? choice_->subject : matcher_.mail(message).taken_by;
  return taker >= 0 && taker <= receive;
}

// Of a message that is taken, or will be: when the receive was posted that takes it.
std::uint32_t Feasibility::taker_posted_at(int message) const {
  const int taker =
      supposes(Option::Kind::Take) && option_->message == message ? choice_->subject : matcher_.mail(message).taken_by;
  return taker >= 0 ? matcher_.at_receive(taker).posted_at : UINT32_MAX;
}

void Feasibility::before(Node earlier, Node later) {
  link(room_.predecessors[later], earlier);
  ++room_.waits[earlier];
}

void Feasibility::before_one_of(Node earlier, Node one, Node other) {
  const auto number = static_cast<std::uint32_t>(room_.alternatives.size());
  room_.alternatives.push_back({earlier});
  link(room_.satisfies[one], number);
  link(room_.satisfies[other], number);
  ++room_.waits[earlier];
}

void Feasibility::seen_before(int message, Node seen) {
  const Message& sent = matcher_.mail(message);
  if (is_live(message)) before(arrival(message), seen);
  else before(event(sent.source, sent.sent_at), seen);
}

void Feasibility::add_orders() {
  for (int rank = 0; rank < matcher_.ranks(); ++rank)
    for (std::uint32_t i = 1; i <= matcher_.at(rank).events; ++i) before(event(rank, i - 1), event(rank, i));
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    std::map<std::pair<int, std::uint64_t>, int> last;
    for (const int number : matcher_.at(rank).live_mail) {
      const Message& message = matcher_.mail(number);
      before(event(message.source, message.sent_at), arrival(number));
      if (message.there_at != UINT32_MAX) before(arrival(number), event(rank, message.there_at));
      auto [found, first] = last.try_emplace({message.source, message.comm}, number);
      if (!first) before(arrival(found->second), arrival(number));
      found->second = number;
    }
  }
  for (const auto& seen : matcher_.evidence_) seen_before(seen.message, event(seen.rank, seen.event));
  for (const auto& fixed : matcher_.precedences_)
    before(event(fixed.earlier_rank, fixed.earlier), event(fixed.later_rank, fixed.later));
}

void Feasibility::add_receives(int rank) {
  for (const int number : matcher_.at(rank).live_receives) {
    const Receive& receive = matcher_.at_receive(number);
    const int taken = took(number);
    if (taken >= 0 && receive.cancel_at) seen_before(taken, event(rank, *receive.cancel_at));
    if (taken < 0 && !cancelled(number)) continue;
    for (const int other : matcher_.at(rank).live_mail) {
      const Message& message = matcher_.mail(other);
      if (other == taken || !Matcher::accepts(receive.wanted, message)) continue;
      if (is_taken_by_earlier(other, number)) continue;  // no concern of this one
      if (taken < 0) {
        before(event(rank, *receive.cancel_at), arrival(other));
        continue;
      }
      if (matcher_.mail(taken).source == message.source) {
        if (taken > other) before(event(rank, receive.posted_at), event(rank, receive.posted_at));  // overtaken
        continue;
      }
      if (is_live(taken)) before_one_of(arrival(taken), arrival(other), event(rank, receive.posted_at));
    }
  }
}

// A probe that said no came before everything that it would have shown; but what a receive takes that was posted before
// the probe is not shown. Of several such probes the last says most.
void Feasibility::add_looks() {
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    const auto& looks = matcher_.at(rank).refused_looks;
    if (looks.empty()) continue;
    for (const int message : matcher_.at(rank).live_mail) {
      const std::uint32_t posted_at = taker_posted_at(message);
      const auto last = std::find_if(looks.rbegin(), looks.rend(), [&](const auto& look) {
        return look.event < posted_at && Matcher::accepts(look.wanted, matcher_.mail(message));
      });
      if (last != looks.rend()) before(event(rank, last->event), arrival(message));
    }
  }
}

void Feasibility::add_supposed_answer() {
  if (!option_ || choice_->about != Choice::About::Question) return;
  const auto& rank = matcher_.at(choice_->rank);
  const auto& asker = matcher_.asker_of(*choice_);
  if (supposes(Option::Kind::Show)) seen_before(option_->message, next_event());
  if (supposes(Option::Kind::No) && asker.probes())
    for (const int message : rank.live_mail)
      if (Matcher::accepts(asker.question.wanted, matcher_.mail(message)) && taker_posted_at(message) >= rank.events)
        before(next_event(), arrival(message));
  if (!supposes(Option::Kind::Report)) return;
  for (const std::uint32_t index : option_->reported) {
    const auto found = rank.operations.find(asker.question.operations[index]);
    if (found == rank.operations.end() || found->second.kind != Matcher::Operation::Kind::Receive) continue;
    if (const int taken = took(found->second.index); taken >= 0) seen_before(taken, next_event());
  }
}

bool Feasibility::possible() {
  std::vector<Node>& free = room_.free;
  free.clear();
  for (Node node = 0; node < room_.waits.size(); ++node)
    if (room_.waits[node] == 0) free.push_back(node);
  std::size_t placed = 0;
  const auto release = [&](Node node) {
    if (--room_.waits[node] == 0) free.push_back(node);
  };
  const auto visit = [&](std::uint32_t list, auto&& each) {
    for (; list != kNone; list = room_.links[list].next) each(room_.links[list].value);
  };
  while (!free.empty()) {
    const Node node = free.back();
    free.pop_back();
    ++placed;
    visit(room_.predecessors[node], release);
    visit(room_.satisfies[node], [&](std::uint32_t number) {
      Alternative& alternative = room_.alternatives[number];
      if (alternative.open) release(alternative.earlier);
      alternative.open = false;
    });
  }
  return placed == room_.waits.size();
}

}  // namespace reprise::explore
