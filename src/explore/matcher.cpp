#include "explore/matcher.hpp"

#include <algorithm>
#include <utility>

#include "explore/feasibility.hpp"

namespace reprise::explore {

namespace {

bool contains(const std::vector<int>& all, int one) { return std::find(all.begin(), all.end(), one) != all.end(); }

std::uint64_t digest(std::uint64_t comm, std::uint32_t number) {
  std::uint64_t mixed = (comm ^ number * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;
  mixed ^= mixed >> 32;
  return mixed * 0xc4ceb9fe1a85ec53ull ^ number;
}

}  // namespace

Matcher::Matcher(int ranks, Buffering buffering, std::uint32_t poll_bound, std::set<std::uint64_t> cancelled_sites)
    : buffering_(buffering),
      poll_bound_(poll_bound),
      cancelled_sites_(std::move(cancelled_sites)),
      ranks_(static_cast<std::size_t>(ranks)) {}

// --- what the ranks do ------------------------------------------------------------------------------------------------

void Matcher::send(int rank, OperationId id, Message message, SendMode mode) {
  message.source = rank;
  message.number = at(rank).sends++;
  message.sent_at = new_event(rank);
  // A ready send is a standard send whose receive is there; whether it always is, is another question.
  const bool standard = mode == SendMode::Standard || mode == SendMode::Ready;
  message.standard = standard;
  message.synchronous = mode == SendMode::Synchronous || (standard && buffering_ == Buffering::None);
  message.optional = standard && buffering_ == Buffering::Mixed;
  const int number = static_cast<int>(messages_.size());
  at(rank).operations[id] = {Operation::Kind::Send, number};
  at(message.dest).inbox.push_back(number);
  at(message.dest).live_mail.push_back(number);
  messages_.push_back(message);
}

void Matcher::receive(int rank, OperationId id, const Wanted& wanted, std::uint64_t site, std::uint32_t function) {
  const int number = static_cast<int>(receives_.size());
  Receive receive;
  receive.rank = rank;
  receive.wanted = wanted;
  receive.posted_at = new_event(rank);
  receive.site = site;
  receive.function = function;
  receive.may_be_cancelled = cancelled_sites_.contains(site);
  receives_.push_back(std::move(receive));
  at(rank).receives.push_back(number);
  at(rank).live_receives.push_back(number);
  at(rank).pending.push_back(number);
  at(rank).operations[id] = {Operation::Kind::Receive, number};
}

void Matcher::cancel(int rank, OperationId id) {
  const Operation* const found = operation(rank, id);
  if (!found || found->kind != Operation::Kind::Receive) return;  // sends are never cancelled in time
  Receive& receive = at_receive(found->index);
  if (receive.cancel_at) return;
  if (receive.took >= 0 && !receive.may_be_cancelled) decided_too_early_.insert(receive.site);
  receive.cancel_at = new_event(rank);
  needs_check_ = true;
}

void Matcher::enter(int rank, OperationId id, Entrance entrance) {
  Rank& who = at(rank);
  const std::uint64_t key = digest(entrance.comm, who.collectives[entrance.comm]++);
  Collective& collective = collectives_[key];
  const int number = static_cast<int>(members_.size());
  if (!collective.members.empty() && !mismatch_ &&
      member(collective.members.front()).entrance.signature != entrance.signature)
    mismatch_ = Mismatch{collective.members.front(), number};
  collective.members.push_back(number);
  members_.push_back({rank, std::move(entrance), new_event(rank), static_cast<std::size_t>(key)});
  who.operations[id] = {Operation::Kind::Collective, number};
}

void Matcher::ask(int rank, Question question) {
  Rank& who = at(rank);
  who.asks = true;
  who.closed.clear();
  who.excluded.assign(question.operations.size(), false);
  who.sleeps = false;
  who.will_say_yes = false;
  who.dead = false;
  who.question = std::move(question);
}

void Matcher::forget(int rank, OperationId id) { at(rank).operations.erase(id); }

void Matcher::ended(int rank) {
  at(rank).ended = true;
  at(rank).asks = false;
}

const Matcher::Operation* Matcher::operation(int rank, OperationId id) const {
  const auto found = at(rank).operations.find(id);
  return found == at(rank).operations.end() ? nullptr : &found->second;
}

// --- matching ---------------------------------------------------------------------------------------------------------

bool Matcher::accepts(const Wanted& wanted, const Message& message) {
  return wanted.comm == message.comm && (wanted.source == kAnybody || wanted.source == message.source) &&
         (wanted.tag == kAnyTag || wanted.tag == message.tag);
}

std::vector<int> Matcher::candidates(int rank, const Wanted& wanted, const std::vector<int>& closed,
                                     std::size_t earlier, bool takes) const {
  const Rank& who = at(rank);
  std::vector<int> found;
  std::vector<int> seen;  // senders: only their first message that fits can be had
  for (const int number : who.inbox) {
    const Message& message = mail(number);
    if (!accepts(wanted, message) || contains(seen, message.source)) continue;
    seen.push_back(message.source);
    if ((message.stuck && takes) || contains(closed, message.source)) continue;
    const bool contested = std::any_of(
        who.pending.begin(), who.pending.begin() + static_cast<std::ptrdiff_t>(earlier), [&](int other) {
          const Receive& before = at_receive(other);
          return accepts(before.wanted, message) && !contains(before.closed, message.source);
        });
    if (!contested) found.push_back(number);
  }
  return found;
}

void Matcher::take(int receive, int message) {
  Receive& taker = at_receive(receive);
  taker.took = message;
  mail(message).taken_by = receive;
  std::erase(at(taker.rank).pending, receive);
  std::erase(at(taker.rank).inbox, message);
}

// Receives from one sender have no choice, unless an earlier one could have the message.
bool Matcher::force_receives(int rank) {
  bool any = false;
  Rank& who = at(rank);
  for (std::size_t i = 0; i < who.pending.size();) {
    const int number = who.pending[i];
    const Receive& receive = at_receive(number);
    if (receive.wanted.source != kAnybody && !receive.cancel_at && !is_unsettled(number)) {
      const auto found = candidates(rank, receive.wanted, receive.closed, i, true);
      if (!found.empty()) {
        take(number, found.front());
        any = true;
        continue;  // the next one has its place now
      }
    }
    ++i;
  }
  return any;
}

// Where sends are buffered, a member waits only for those whose data it gets.
bool Matcher::is_collective_complete(const Member& asked, bool with_everybody) const {
  const auto& there = collectives_.at(asked.collective).members;
  const auto came = [&](int rank) {
    return std::any_of(there.begin(), there.end(), [&](int other) { return member(other).rank == rank; });
  };
  const auto& needed = with_everybody ? asked.entrance.members : asked.entrance.needs;
  return std::all_of(needed.begin(), needed.end(), came);
}

std::vector<int> Matcher::missing(int index) const {
  const Member& asked = member(index);
  const auto& there = collectives_.at(asked.collective).members;
  std::vector<int> absent;
  for (const int rank : asked.entrance.members)
    if (std::none_of(there.begin(), there.end(), [&](int other) { return member(other).rank == rank; }))
      absent.push_back(rank);
  return absent;
}

bool Matcher::is_complete(const Operation& operation) const {
  switch (operation.kind) {
    case Operation::Kind::Receive: return at_receive(operation.index).decided();
    case Operation::Kind::Collective: return is_collective_complete(member(operation.index), buffering_ == Buffering::None);
    default: {
      const Message& message = mail(operation.index);
      return message.taken_by >= 0 || (!message.synchronous && !message.optional);
    }
  }
}

bool Matcher::is_complete_if_buffered(const Operation& operation) const {
  if (is_complete(operation)) return true;
  if (operation.kind == Operation::Kind::Send) return mail(operation.index).standard;
  return operation.kind == Operation::Kind::Collective && is_collective_complete(member(operation.index), false);
}

// Or can be made so by calling a send buffered.
bool Matcher::may_be_complete(const Operation& operation) const {
  if (is_complete(operation)) return true;
  return operation.kind == Operation::Kind::Send && mail(operation.index).optional && !mail(operation.index).stuck;
}

// --- answers ----------------------------------------------------------------------------------------------------------

// What a rank learns of an operation that is complete.
Report Matcher::report_on(const Operation& operation) const {
  Report report;
  if (operation.kind == Operation::Kind::Receive) {
    const Receive& receive = at_receive(operation.index);
    report.cancelled = receive.cancelled;
    if (receive.took < 0) return report;
    const Message& message = mail(receive.took);
    report.source = message.source;
    report.tag = message.tag;
    report.bytes = message.bytes;
    report.data = message.data;
  } else if (operation.kind == Operation::Kind::Collective) {
    const Member& asked = member(operation.index);
    report.contributions.resize(asked.entrance.members.size());
    for (const int other : collectives_.at(asked.collective).members) {
      const Member& there = member(other);
      if (!contains(asked.entrance.needs, there.rank)) continue;
      for (std::size_t i = 0; i < asked.entrance.members.size(); ++i)
        if (asked.entrance.members[i] == there.rank) report.contributions[i] = there.entrance.data;
    }
  }
  return report;
}

// Without consequences.
Answer Matcher::look(int rank) {
  Rank& who = at(rank);
  Answer answer;
  answer.rank = rank;
  for (std::uint32_t i = 0; i < who.question.operations.size(); ++i) {
    const Operation* const found = operation(rank, who.question.operations[i]);
    if (!found || !is_complete(*found)) {
      answer.yes = false;
      continue;
    }
    answer.reports.push_back(report_on(*found));
    answer.reports.back().index = i;
  }
  who.asks = false;
  return answer;
}

Answer Matcher::answer(int rank, std::vector<std::uint32_t> reported) {
  Rank& who = at(rank);
  Answer answer;
  answer.rank = rank;
  const std::uint32_t event = new_event(rank);
  bool is_news = reported.empty();
  for (const std::uint32_t index : reported) {
    const OperationId id = who.question.operations[index];
    const auto known = who.operations.find(id);
    if (known == who.operations.end()) continue;  // inactive
    Operation* const found = &known->second;
    is_news |= !found->seen;
    found->seen = true;
    Report report = report_on(*found);
    report.index = index;
    report.operation = id;
    if (found->kind == Operation::Kind::Receive) {
      settle_receive(found->index, event);
    } else if (found->kind == Operation::Kind::Send) {
      Message& message = mail(found->index);
      if (message.optional && message.taken_by < 0) message.optional = false;  // it was buffered
      if (message.synchronous && message.taken_by >= 0) {
        const Receive& taker = at_receive(message.taken_by);
        if (message.settled) precedences_.push_back({message.source, message.sent_at, rank, event});
        else evidence_.push_back({found->index, rank, event});
        precedences_.push_back({taker.rank, taker.posted_at, rank, event});
      }
    } else {
      const Member& asked = member(found->index);
      const auto& needed = buffering_ == Buffering::None ? asked.entrance.members : asked.entrance.needs;
      for (const int other : collectives_.at(asked.collective).members) {
        const Member& there = member(other);
        if (there.rank != rank && contains(needed, there.rank))
          precedences_.push_back({there.rank, there.entered_at, rank, event});
      }
    }
    if (!who.question.keeps) who.operations.erase(id);
    answer.reports.push_back(std::move(report));
  }
  // Only news begins a new row of polls: a program may look at what it knows again and again.
  if (who.question.may_say_no && is_news) who.refusals.erase(who.question.site);
  who.asks = false;
  return answer;
}

// The message had arrived before this event of its receiver, and so had those that were sent before it on the same way.
void Matcher::was_there(int number, std::uint32_t event) {
  const Message& message = mail(number);
  for (const int other : at(message.dest).live_mail) {
    if (other > number) break;
    Message& earlier = mail(other);
    if (earlier.source == message.source && earlier.comm == message.comm) earlier.there_at = std::min(earlier.there_at, event);
  }
}

// The program has seen it complete. From now on its message concerns only receives that were posted before it and are
// still open: they might have had it.
void Matcher::settle_receive(int number, std::uint32_t event) {
  const Receive& receive = at_receive(number);
  Rank& who = at(receive.rank);
  if (receive.took < 0) return;
  Message& message = mail(receive.took);
  if (message.settled) return;
  was_there(receive.took, event);
  const bool concerns = std::any_of(who.pending.begin(), who.pending.end(), [&](int other) {
    return other < number && accepts(at_receive(other).wanted, message);
  });
  if (concerns) return;
  message.settled = true;
  precedences_.push_back({message.source, message.sent_at, receive.rank, event});
  std::erase(who.live_mail, receive.took);
  std::erase(who.live_receives, number);
  std::erase_if(evidence_, [&](const Evidence& seen) {
    if (seen.message != receive.took) return false;
    precedences_.push_back({message.source, message.sent_at, seen.rank, seen.event});
    return true;
  });
}

Answer Matcher::answer_no(int rank) {
  Rank& who = at(rank);
  const std::uint32_t event = new_event(rank);
  const bool probes = who.question.kind == Question::Kind::Probe || who.question.kind == Question::Kind::Take;
  if (probes) {
    who.refused_looks.push_back({event, who.question.wanted});
    needs_check_ = true;
  }
  ++who.refusals[who.question.site];
  who.asks = false;
  Answer answer;
  answer.rank = rank;
  answer.yes = false;
  return answer;
}

Answer Matcher::answer_probe(int rank, int number) {
  Rank& who = at(rank);
  const std::uint32_t event = new_event(rank);
  Message& message = mail(number);
  const bool is_news = !std::exchange(message.shown, true);
  Answer answer;
  answer.rank = rank;
  Report report;
  report.source = message.source;
  report.tag = message.tag;
  report.bytes = message.bytes;
  report.data = message.data;
  was_there(number, event);
  needs_check_ = true;
  if (who.question.kind == Question::Kind::Take) {
    // From here on it is a receive that has its message.
    const int taker = static_cast<int>(receives_.size());
    Receive receive;
    receive.rank = rank;
    receive.wanted = who.question.wanted;
    receive.posted_at = event;
    receive.site = who.question.site;
    receive.function = who.question.function;
    receives_.push_back(std::move(receive));
    who.receives.push_back(taker);
    who.live_receives.push_back(taker);
    take(taker, number);
    answer.taken = who.taken++;
    who.operations[answer.taken] = {Operation::Kind::Receive, taker};
  }
  if (who.question.may_say_no && is_news) who.refusals.erase(who.question.site);
  answer.reports.push_back(std::move(report));
  who.asks = false;
  return answer;
}

std::optional<Answer> Matcher::forced_answer(int rank) {
  Rank& who = at(rank);
  if (!who.asks || who.dead) return std::nullopt;
  const Question& question = who.question;
  if (question.looks_only) return look(rank);
  const bool may_refuse = question.may_say_no && !who.will_say_yes && !polls_too_long(who);
  if (question.kind == Question::Kind::Probe || question.kind == Question::Kind::Take) {
    if (may_refuse || question.wanted.source == kAnybody) return std::nullopt;
    const auto found = candidates(rank, question.wanted, who.closed, who.pending.size(),
                                  question.kind == Question::Kind::Take);
    return found.empty() ? std::nullopt : std::optional(answer_probe(rank, found.front()));
  }
  std::vector<std::uint32_t> active;
  for (std::uint32_t i = 0; i < question.operations.size(); ++i)
    if (is_active(who, question.operations[i])) active.push_back(i);
  if (active.empty()) return answer(rank, {});
  const auto is_known = [&](std::uint32_t index) { return operation(rank, question.operations[index])->seen; };
  if (question.kind == Question::Kind::All && std::all_of(active.begin(), active.end(), is_known))
    return answer(rank, std::move(active));
  if (may_refuse) return std::nullopt;
  const bool all = std::all_of(active.begin(), active.end(), [&](std::uint32_t index) {
    return is_complete(*operation(rank, question.operations[index]));
  });
  if (!all) return std::nullopt;
  // One of several could be left out.
  if (question.kind == Question::Kind::All || active.size() == 1) return answer(rank, std::move(active));
  return std::nullopt;
}

std::vector<Answer> Matcher::settle() {
  for (bool again = true; again;) {
    again = false;
    for (int rank = 0; rank < ranks(); ++rank) again |= force_receives(rank);
  }
  std::vector<Answer> answers;
  for (int rank = 0; rank < ranks(); ++rank)
    if (auto forced = forced_answer(rank)) answers.push_back(std::move(*forced));
  return answers;
}

bool Matcher::polls_too_long(const Rank& rank) const {
  const auto found = rank.refusals.find(rank.question.site);
  return found != rank.refusals.end() && found->second >= poll_bound_;
}

std::vector<Answer> Matcher::refuse_polls() {
  std::vector<Answer> answers;
  for (int rank = 0; rank < ranks(); ++rank)
    if (at(rank).asks && at(rank).question.may_say_no && !at(rank).will_say_yes) answers.push_back(answer_no(rank));
  return answers;
}

// --- the end ----------------------------------------------------------------------------------------------------------

bool Matcher::anybody_asleep() const {
  for (const Rank& rank : ranks_) {
    if (std::any_of(rank.pending.begin(), rank.pending.end(), [&](int one) { return at_receive(one).asleep(); }))
      return true;
    if (rank.asks && rank.sleeps) return true;
  }
  return false;
}

bool Matcher::is_possible() {
  if (anybody_asleep()) return false;
  for (const Rank& rank : ranks_) {
    // At the end every message has arrived: nobody may be left who wants one that is left. (What could be chosen was
    // chosen; this is about what is stuck, and about what contradicts the rest.)
    const auto is_left = [&](const Wanted& wanted) {
      return std::any_of(rank.inbox.begin(), rank.inbox.end(), [&](int one) { return accepts(wanted, mail(one)); });
    };
    if (std::any_of(rank.pending.begin(), rank.pending.end(), [&](int one) { return is_left(at_receive(one).wanted); }))
      return false;
    if (!rank.asks) continue;
    const bool probes = rank.question.kind == Question::Kind::Probe || rank.question.kind == Question::Kind::Take;
    if (probes && is_left(rank.question.wanted)) return false;
    if (!rank.dead) continue;
    for (const OperationId id : rank.question.operations)
      if (const auto found = rank.operations.find(id); found != rank.operations.end() && is_complete(found->second))
        return false;
  }
  return is_possible_so_far();
}

bool Matcher::is_possible_so_far() const { return !needs_check_ || Feasibility(*this).possible(); }

}  // namespace reprise::explore
