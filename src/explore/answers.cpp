// What ranks are told, and what follows from it: in MPI's terms, completion.
#include <algorithm>
#include <utility>

#include "explore/feasibility.hpp"
#include "explore/matcher.hpp"

namespace reprise::explore {

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
Answer Matcher::look(Asker& asker) {
  Answer answer;
  answer.rank = asker.rank;
  answer.thread = asker.thread;
  for (std::uint32_t i = 0; i < asker.question.operations.size(); ++i) {
    const Operation* const found = operation(asker.rank, asker.question.operations[i]);
    if (!found || !is_complete(*found)) {
      answer.yes = false;
      continue;
    }
    answer.reports.push_back(report_on(*found));
    answer.reports.back().index = i;
  }
  asker.asks = false;
  return answer;
}

Answer Matcher::answer(Asker& asker, std::vector<std::uint32_t> reported) {
  const int rank = asker.rank;
  Rank& who = at(rank);
  Answer answer;
  answer.rank = rank;
  answer.thread = asker.thread;
  const std::uint32_t event = new_event(rank);
  bool is_news = reported.empty();
  for (const std::uint32_t index : reported) {
    const OperationId id = asker.question.operations[index];
    const auto known = who.operations.find(id);
    if (known == who.operations.end()) continue;  // inactive
    Operation* const found = &known->second;
    is_news |= !found->seen;
    found->seen = true;
    Report report = report_on(*found);
    report.index = index;
    report.operation = id;
    const std::uint64_t content = found->kind == Operation::Kind::Receive && at_receive(found->index).took >= 0
                                      ? mail(at_receive(found->index).took).content
                                      : 0;
    remember(rank, {5, index, static_cast<std::uint64_t>(report.source), static_cast<std::uint64_t>(report.tag),
                    report.bytes, content});
    if (found->kind == Operation::Kind::Receive) {
      saw_receive(found->index, event);
      one_sided_.causality.hears(rank, Causality::Of::Message, at_receive(found->index).took);
    } else if (found->kind == Operation::Kind::OneSided) {
      one_sided_.seen(found->index);
    } else if (found->kind == Operation::Kind::Send) {
      Message& message = mail(found->index);
      if (message.optional && message.taken_by < 0) message.optional = false;  // it was buffered
      if (message.synchronous && message.taken_by >= 0) {
        const Receive& taker = at_receive(message.taken_by);
        if (message.settled) precedences_.push_back({message.source, message.sent_at, rank, event});
        else evidence_.push_back({found->index, rank, event});
        precedences_.push_back({taker.rank, taker.posted_at, rank, event});
        one_sided_.causality.hears(rank, Causality::Of::Receive, message.taken_by);
      }
    } else {
      const Member& asked = member(found->index);
      const auto& needed = buffering_ == Buffering::None ? asked.entrance.members : asked.entrance.needs;
      for (const int other : collectives_.at(asked.collective).members) {
        const Member& there = member(other);
        if (there.rank == rank || !contains(needed, there.rank)) continue;
        precedences_.push_back({there.rank, there.entered_at, rank, event});
        one_sided_.causality.hears(rank, Causality::Of::Member, other);
      }
    }
    if (!asker.question.keeps) who.operations.erase(id);
    answer.reports.push_back(std::move(report));
  }
  // Only news begins a new row of polls: a program may look at what it knows again and again.
  if (asker.question.may_say_no && is_news) who.refusals.erase(place_of_poll(asker));
  asker.asks = false;
  return answer;
}

// The message had arrived before this event of its receiver, and so had those that were sent before it on the same way.
void Matcher::was_there(int number, std::uint32_t event) {
  const Message& message = mail(number);
  for (const int other : at(message.dest).live_mail) {
    if (other > number) break;
    Message& earlier = mail(other);
    if (earlier.source == message.source && earlier.comm == message.comm)
      earlier.there_at = std::min(earlier.there_at, event);
  }
}

// The program has seen it complete.
void Matcher::saw_receive(int number, std::uint32_t event) {
  Receive& receive = at_receive(number);
  Rank& who = at(receive.rank);
  if (receive.took < 0 || receive.seen_at) return;
  receive.seen_at = event;
  was_there(receive.took, event);
  who.seen_receives.push_back(number);
  // Of very long runs the oldest are forgotten, so that what is looked at does not grow with the square of the run.
  constexpr std::size_t kMostLive = 48;
  while (who.live_receives.size() > kMostLive) {
    const auto oldest = std::find_if(who.seen_receives.begin(), who.seen_receives.end(),
                                     [&](int seen) { return !concerns_others(seen); });
    if (oldest == who.seen_receives.end()) return;
    const int settled = *oldest;
    who.seen_receives.erase(oldest);
    settle_receive(settled);
  }
}

// Could a receive that was posted before, and is still open, have had its message?
bool Matcher::concerns_others(int number) const {
  const Receive& receive = at_receive(number);
  const Rank& who = at(receive.rank);
  return std::any_of(who.pending.begin(), who.pending.end(), [&](int other) {
    return other < number && accepts(at_receive(other).wanted, mail(receive.took));
  });
}

// All that remains of it is that it was sent before it was seen.
void Matcher::settle_receive(int number) {
  const Receive& receive = at_receive(number);
  Rank& who = at(receive.rank);
  Message& message = mail(receive.took);
  message.settled = true;
  precedences_.push_back({message.source, message.sent_at, receive.rank, *receive.seen_at});
  std::erase(who.live_mail, receive.took);
  std::erase(who.live_receives, number);
  std::erase_if(evidence_, [&](const Evidence& seen) {
    if (seen.message != receive.took) return false;
    precedences_.push_back({message.source, message.sent_at, seen.rank, seen.event});
    return true;
  });
}

// From time to time, so that the work per event stays the same. Runs that contradict themselves are kept as they are:
// they may still be mended (feasibility.cpp, add_looks).
void Matcher::forget_past() {
  const auto size = [&] {
    std::size_t sum = evidence_.size() + precedences_.size();
    for (const Rank& rank : ranks_) sum += rank.events - rank.past + rank.live_mail.size();
    return sum;
  };
  constexpr std::size_t kFewest = 256;
  if (size() < 2 * kept_size_ + kFewest) return;
  Feasibility all(*this);
  const Feasibility::Past past = all.past();
  if (all.possible()) {
    for (const int message : past.messages) mail(message).settled = true;
    const auto is_past = [&](int rank, std::uint32_t event) { return event < at(rank).past; };
    for (int number = 0; number < ranks(); ++number) {
      Rank& rank = at(number);
      rank.past = past.events[static_cast<std::size_t>(number)];
      std::erase_if(rank.live_mail, [&](int message) { return mail(message).settled; });
      std::erase_if(rank.refused_looks, [&](const Look& look) { return is_past(number, look.event); });
      const auto is_done = [&](int one) {
        const Receive& receive = at_receive(one);
        return receive.took >= 0 ? mail(receive.took).settled : receive.cancelled && is_past(number, *receive.cancel_at);
      };
      std::erase_if(rank.live_receives, is_done);
      std::erase_if(rank.seen_receives, is_done);
    }
    std::erase_if(evidence_, [&](const Evidence& seen) { return mail(seen.message).settled; });
    std::erase_if(precedences_, [&](const Precedence& one) { return is_past(one.earlier_rank, one.earlier); });
  }
  kept_size_ = size();
}

Answer Matcher::answer_no(Asker& asker) {
  Rank& who = at(asker.rank);
  const std::uint32_t event = new_event(asker.rank);
  if (asker.probes()) {
    who.refused_looks.push_back({event, asker.question.wanted});
    needs_check_ = true;
  }
  ++who.refusals[place_of_poll(asker)];
  remember(asker.rank, {6});
  asker.asks = false;
  Answer answer;
  answer.rank = asker.rank;
  answer.thread = asker.thread;
  answer.yes = false;
  return answer;
}

Answer Matcher::answer_probe(Asker& asker, int number) {
  const int rank = asker.rank;
  Rank& who = at(rank);
  const std::uint32_t event = new_event(rank);
  Message& message = mail(number);
  const bool is_news = !std::exchange(message.shown, true);
  Answer answer;
  answer.rank = rank;
  answer.thread = asker.thread;
  Report report;
  report.source = message.source;
  report.tag = message.tag;
  report.bytes = message.bytes;
  report.data = message.data;
  remember(rank,
           {7, static_cast<std::uint64_t>(message.source), static_cast<std::uint64_t>(message.tag), message.bytes});
  was_there(number, event);
  one_sided_.causality.hears(rank, Causality::Of::Message, number);
  needs_check_ = true;
  if (asker.question.kind == Question::Kind::Take) {
    // From here on it is a receive that has its message.
    const int taker = static_cast<int>(receives_.size());
    Receive receive;
    receive.rank = rank;
    receive.wanted = asker.question.wanted;
    receive.posted_at = event;
    receive.site = asker.question.site;
    receive.function = asker.question.function;
    receives_.push_back(std::move(receive));
    who.receives.push_back(taker);
    who.live_receives.push_back(taker);
    take(taker, number);
    answer.taken = who.taken++;
    who.operations[answer.taken] = {Operation::Kind::Receive, taker};
  }
  if (asker.question.may_say_no && is_news) who.refusals.erase(place_of_poll(asker));
  answer.reports.push_back(std::move(report));
  asker.asks = false;
  return answer;
}

std::optional<Answer> Matcher::forced_answer(Asker& asker) {
  const int rank = asker.rank;
  Rank& who = at(rank);
  const Question& question = asker.question;
  if (!asker.asks || asker.dead || question.kind == Question::Kind::Pause) return std::nullopt;
  if (question.looks_only) return look(asker);
  if (asker.probes()) {
    if (may_refuse(asker) || question.wanted.source == kAnybody) return std::nullopt;
    const auto found =
        candidates(rank, question.wanted, asker.closed, who.pending.size(), question.kind == Question::Kind::Take);
    return found.empty() ? std::nullopt : std::optional(answer_probe(asker, found.front()));
  }
  std::vector<std::uint32_t> active;
  for (std::uint32_t i = 0; i < question.operations.size(); ++i)
    if (is_active(who, question.operations[i])) active.push_back(i);
  if (active.empty()) return answer(asker, {});
  const auto is_known = [&](std::uint32_t index) { return operation(rank, question.operations[index])->seen; };
  if (question.kind == Question::Kind::All && std::all_of(active.begin(), active.end(), is_known))
    return answer(asker, std::move(active));
  if (may_refuse(asker)) return std::nullopt;
  const bool all = std::all_of(active.begin(), active.end(), [&](std::uint32_t index) {
    return is_complete(*operation(rank, question.operations[index]));
  });
  if (!all) return std::nullopt;
  // One of several could be left out.
  if (question.kind == Question::Kind::All || active.size() == 1) return answer(asker, std::move(active));
  return std::nullopt;
}

std::vector<Answer> Matcher::settle() {
  for (bool again = true; again;) {
    again = false;
    for (int rank = 0; rank < ranks(); ++rank) again |= force_receives(rank);
  }
  if (one_sided_.used()) one_sided_.grant();
  std::vector<Answer> answers;
  for (Rank& rank : ranks_)
    for (Asker& asker : rank.askers)
      if (auto forced = forced_answer(asker)) answers.push_back(std::move(*forced));
  return answers;
}

std::uint64_t Matcher::place_of_poll(const Asker& asker) {
  return asker.question.site ^ static_cast<std::uint64_t>(asker.thread) << 48;
}

bool Matcher::polls_too_long(const Asker& asker) const {
  const Rank& rank = at(asker.rank);
  const auto found = rank.refusals.find(place_of_poll(asker));
  return found != rank.refusals.end() && found->second >= poll_bound_;
}

std::vector<Answer> Matcher::refuse_polls() {
  std::vector<Answer> answers = let_time_pass();
  for (Rank& rank : ranks_)
    for (Asker& asker : rank.askers)
      if (asker.asks && asker.question.may_say_no && !asker.will_say_yes) answers.push_back(answer_no(asker));
  return answers;
}

std::vector<Answer> Matcher::let_time_pass() {
  std::vector<Answer> answers;
  for (Rank& rank : ranks_)
    for (Asker& asker : rank.askers)
      if (asker.asks && asker.question.kind == Question::Kind::Pause) answers.push_back(answer(asker, {}));
  return answers;
}

}  // namespace reprise::explore
