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
    count += rank.events - rank.past + 1;
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
  add_supposed_refusal();
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
  if (earlier == kPast) return;
  if (later == kPast) {
    contradiction_ = true;
    return;
  }
  link(room_.predecessors[later], earlier);
  ++room_.waits[earlier];
}

void Feasibility::before_one_of(Node earlier, Node one, Node other) {
  if (earlier == kPast) return;
  if (one == kPast || other == kPast) return before(earlier, one == kPast ? other : one);
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
    for (std::uint32_t i = matcher_.at(rank).past + 1; i <= matcher_.at(rank).events; ++i) before(event(rank, i - 1), event(rank, i));
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
        if (taken > other) contradiction_ = true;  // overtaken
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

// It would be the rank's next event. (What a rank is shown or told then needs no look: everything can have been before.)
void Feasibility::add_supposed_refusal() {
  if (!supposes(Option::Kind::No) || choice_->about != Choice::About::Question) return;
  const auto& rank = matcher_.at(choice_->rank);
  const auto& asker = matcher_.asker_of(*choice_);
  if (!asker.probes()) return;
  for (const int message : rank.live_mail)
    if (Matcher::accepts(asker.question.wanted, matcher_.mail(message)) && taker_posted_at(message) >= rank.events)
      before(event(choice_->rank, rank.events), arrival(message));
}

bool Feasibility::possible() {
  if (contradiction_) return false;
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

// May a receive that is open, and was posted before the one that took it, turn out to have left it to that one?
bool Feasibility::may_be_overtaken(int message) const {
  const Message& sent = matcher_.mail(message);
  const auto& pending = matcher_.at(sent.dest).pending;
  return std::any_of(pending.begin(), pending.end(), [&](int receive) {
    return receive < sent.taken_by && Matcher::accepts(matcher_.at_receive(receive).wanted, sent);
  });
}

// Constraints to come are about what is to come, but for these: messages that are not taken yet, or over the heads of
// open receives, and the posting of a receive whose message is not there. (That of a receive from one sender says
// nothing, as its alternatives are all from that sender; unless it is being cancelled.)
std::vector<Feasibility::Node> Feasibility::not_yet_past() const {
  std::vector<Node> found;
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    const auto& who = matcher_.at(rank);
    found.push_back(event(rank, who.events));
    for (const int message : who.live_mail)
      if (matcher_.mail(message).taken_by < 0 || may_be_overtaken(message)) found.push_back(arrival(message));
    for (const int number : who.pending) {
      const Receive& receive = matcher_.at_receive(number);
      if (receive.wanted.source == kAnybody || receive.cancel_at) found.push_back(event(rank, receive.posted_at));
    }
  }
  return found;
}

// Everything but these, and what may have been after them. In an order of all events, what this leaves can be moved to
// the front as it is: no constraint has its earlier end among the others and a later end here.
Feasibility::Past Feasibility::past() {
  std::vector<std::vector<Node>> later(room_.waits.size());
  for (Node node = 0; node < later.size(); ++node) {
    for (std::uint32_t link = room_.predecessors[node]; link != kNone; link = room_.links[link].next)
      later[room_.links[link].value].push_back(node);
    for (std::uint32_t link = room_.satisfies[node]; link != kNone; link = room_.links[link].next)
      later[room_.alternatives[room_.links[link].value].earlier].push_back(node);
  }
  // A message to come may add an alternative: that what the receive took was there before it was posted.
  for (int rank = 0; rank < matcher_.ranks(); ++rank)
    for (const int number : matcher_.at(rank).live_receives) {
      const Receive& receive = matcher_.at_receive(number);
      const Node posted = event(rank, receive.posted_at);
      if (receive.wanted.source == kAnybody && receive.took >= 0 && is_live(receive.took) && posted != kPast)
        later[arrival(receive.took)].push_back(posted);
    }
  std::vector<bool> remains(later.size(), false);
  std::vector<Node> reached;
  const auto reach = [&](Node node) {
    if (node == kPast || remains[node]) return;
    remains[node] = true;
    reached.push_back(node);
  };
  for (const Node node : not_yet_past()) reach(node);
  while (!reached.empty()) {
    const Node node = reached.back();
    reached.pop_back();
    for (const Node after : later[node]) reach(after);
  }
  Past past;
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    std::uint32_t number = matcher_.at(rank).past;
    while (!remains[event(rank, number)]) ++number;
    past.events.push_back(number);
    for (const int message : matcher_.at(rank).live_mail)
      if (!remains[arrival(message)]) past.messages.push_back(message);
  }
  return past;
}

}  // namespace reprise::explore
