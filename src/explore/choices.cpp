// The choices of the matcher, and what follows from an option.
#include <algorithm>

#include "explore/feasibility.hpp"
#include "explore/matcher.hpp"

namespace reprise::explore {

namespace {

Option take_option(int message) { return {Option::Kind::Take, message, {}, -1}; }
Option plain_option(Option::Kind kind) { return {kind, -1, {}, -1}; }
Option turn_option(int item) { return {Option::Kind::Turn, -1, {}, item}; }

}  // namespace

bool Matcher::wants_what_earlier_could_have(int rank, std::size_t place) const {
  const Rank& who = at(rank);
  const Receive& receive = at_receive(who.pending[place]);
  return std::any_of(who.inbox.begin(), who.inbox.end(), [&](int number) {
    const Message& message = mail(number);
    return accepts(receive.wanted, message) && !contains(receive.closed, message.source) &&
           is_contested(who, message, place);
  });
}

// A receive is not decided as long as an earlier one could have something that it wants.
void Matcher::add_receive_choices(int rank, std::vector<Choice>& all) const {
  const Rank& who = at(rank);
  for (std::size_t i = 0; i < who.pending.size(); ++i) {
    const int number = who.pending[i];
    const Receive& receive = at_receive(number);
    if (wants_what_earlier_could_have(rank, i)) continue;
    const auto found = candidates(rank, receive.wanted, receive.closed, i, true);
    const bool may_be_cancelled = receive.cancel_at && !receive.takes;
    if (found.empty() && !may_be_cancelled) continue;
    Choice choice{Choice::About::Receive, rank, number, {}, false};
    for (const int message : found) choice.options.push_back(take_option(message));
    if (may_be_cancelled) choice.options.push_back(plain_option(Option::Kind::Cancelled));
    all.push_back(std::move(choice));
  }
}

// What the question of a rank could report now.
std::vector<std::uint32_t> Matcher::ready(const Asker& asker) const {
  const Rank& who = at(asker.rank);
  std::vector<std::uint32_t> found;
  for (std::uint32_t i = 0; i < asker.question.operations.size(); ++i) {
    const auto known = who.operations.find(asker.question.operations[i]);
    if (known != who.operations.end() && may_be_complete(known->second)) found.push_back(i);
  }
  return found;
}

std::optional<Choice> Matcher::question_choice(int rank, int number) const {
  const Rank& who = at(rank);
  const Asker& asker = who.askers[static_cast<std::size_t>(number)];
  const Question& question = asker.question;
  if (!asker.asks || asker.dead || question.kind == Question::Kind::Pause) return std::nullopt;
  Choice choice{Choice::About::Question, rank, number, {}, false};
  if (may_refuse(asker)) choice.options.push_back(plain_option(Option::Kind::No));
  if (asker.probes()) {
    for (const int message :
         candidates(rank, question.wanted, asker.closed, who.pending.size(), question.kind == Question::Kind::Take))
      choice.options.push_back({Option::Kind::Show, message, {}, -1});
    return choice.options.empty() ? std::nullopt : std::optional(choice);
  }
  const auto now = ready(asker);
  if (question.kind == Question::Kind::All) {
    std::vector<std::uint32_t> active;
    for (std::uint32_t i = 0; i < question.operations.size(); ++i)
      if (is_active(who, question.operations[i])) active.push_back(i);
    if (question.may_say_no && now.size() == active.size()) {
      choice.options.push_back({Option::Kind::Report, -1, active, -1});
    } else if (!question.may_say_no) {
      // Only sends that may or may not be buffered are left to decide here. One that is stuck is enough.
      const bool is_stuck = std::any_of(active.begin(), active.end(), [&](std::uint32_t index) {
        const Operation& found = who.operations.at(question.operations[index]);
        return found.kind == Operation::Kind::Send && mail(found.index).stuck;
      });
      if (is_stuck) return std::nullopt;
      for (const std::uint32_t index : now) {
        const Operation& found = who.operations.at(question.operations[index]);
        if (is_complete(found)) continue;
        Choice about_send{Choice::About::Send, rank, found.index, {}, false};
        about_send.options = {plain_option(Option::Kind::Buffered), plain_option(Option::Kind::Stuck)};
        return about_send;
      }
    }
    return choice.options.empty() ? std::nullopt : std::optional(choice);
  }
  const auto is_new = [&](std::uint32_t index) { return !asker.excluded[index]; };
  if (question.kind == Question::Kind::Any) {
    for (const std::uint32_t index : now)
      if (is_new(index)) choice.options.push_back({Option::Kind::Report, -1, {index}, -1});
  } else {
    // Every set with something new in it. There are many; that is what MPI_Waitsome allows.
    constexpr std::size_t kMostAtOnce = 12;
    const std::size_t size = std::min(now.size(), kMostAtOnce);
    if (size < now.size()) cut_sets_ = true;
    for (std::uint32_t bits = 1; bits < (1u << size); ++bits) {
      std::vector<std::uint32_t> some;
      bool fresh = false;
      for (std::size_t i = 0; i < size; ++i) {
        if ((bits >> i & 1) == 0) continue;
        some.push_back(now[i]);
        fresh |= is_new(now[i]);
      }
      if (fresh) choice.options.push_back({Option::Kind::Report, -1, std::move(some), -1});
    }
  }
  // None of the sends is buffered, and nothing else ever completes either.
  const bool only_unsure = std::all_of(now.begin(), now.end(), [&](std::uint32_t index) {
    return !is_complete(who.operations.at(question.operations[index]));
  });
  if (!question.may_say_no && !asker.sleeps && !now.empty() && only_unsure)
    choice.options.push_back(plain_option(Option::Kind::Dead));
  return choice.options.empty() ? std::nullopt : std::optional(choice);
}

// Those that somebody waits for.
std::vector<int> Matcher::wanted_items() const {
  std::vector<int> wanted;
  for (const Rank& rank : ranks_)
    for (const Asker& asker : rank.askers) {
      if (!asker.asks || asker.question.looks_only) continue;
      for (const OperationId id : asker.question.operations)
        if (const auto found = rank.operations.find(id);
            found != rank.operations.end() && found->second.kind == Operation::Kind::OneSided)
          wanted.push_back(found->second.index);
    }
  return wanted;
}

void Matcher::add_turn_choices(std::vector<Choice>& all) const {
  for (const OneSided::Turn& turn : one_sided_.turns(wanted_items())) {
    Choice choice{Choice::About::Turn, one_sided_.item(turn.items.front()).target, turn.items.front(), {}, turn.may_wait};
    for (const int item : turn.items) choice.options.push_back(turn_option(item));
    all.push_back(std::move(choice));
  }
}

// Does the rank wait for just this?
bool Matcher::waits_for(int rank, int receive) const {
  const auto is_this = [&](OperationId id) {
    const Operation* const found = operation(rank, id);
    return found && found->kind == Operation::Kind::Receive && found->index == receive;
  };
  return std::any_of(at(rank).askers.begin(), at(rank).askers.end(), [&](const Asker& asker) {
    const Question& question = asker.question;
    if (!asker.asks || question.kind != Question::Kind::All) return false;
    if (question.may_say_no && !asker.will_say_yes) return false;
    return std::any_of(question.operations.begin(), question.operations.end(), is_this);
  });
}

bool Matcher::is_unsettled(int number) const {
  const Receive& receive = at_receive(number);
  return receive.may_be_cancelled && !receive.cancel_at && !at(receive.rank).ended && !waits_for(receive.rank, number);
}

// Could a later receive of the same rank have what this one could have?
bool Matcher::wanted_by_others(const Choice& choice) const {
  const Rank& who = at(choice.rank);
  return std::any_of(who.pending.begin(), who.pending.end(), [&](int other) {
    return other > choice.subject &&
           std::any_of(choice.options.begin(), choice.options.end(), [&](const Option& option) {
             return option.message >= 0 && accepts(at_receive(other).wanted, mail(option.message));
           });
  });
}

// Can something come later that is not among the options now, if other choices are made first?
bool Matcher::could_come(const Choice& choice) const {
  const Rank& who = at(choice.rank);
  // Another thread of the same rank may yet send something.
  const bool is_alone =
      std::count_if(who.askers.begin(), who.askers.end(), [](const Asker& one) { return one.asks; }) <= 1;
  const auto is_dead = [&](int rank) {
    const auto& askers = at(rank).askers;
    return !askers.empty() && std::all_of(askers.begin(), askers.end(), [](const Asker& one) { return one.dead; });
  };
  const auto may_still_send = [&](const Wanted& wanted, const std::vector<int>& closed, bool waits) {
    for (int source = 0; source < ranks(); ++source) {
      if (wanted.source != kAnybody && wanted.source != source) continue;
      if (at(source).ended || is_dead(source) || contains(closed, source)) continue;
      if (source == choice.rank && waits && is_alone) continue;
      const bool there = std::any_of(choice.options.begin(), choice.options.end(), [&](const Option& option) {
        return option.message >= 0 && mail(option.message).source == source;
      });
      if (!there) return true;
    }
    return false;
  };
  if (choice.about == Choice::About::Turn)
    return std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) {
      const int number = static_cast<int>(&rank - ranks_.data());
      return !rank.ended && !is_dead(number) && std::none_of(choice.options.begin(), choice.options.end(), [&](const Option& option) {
        return one_sided_.item(option.item).rank == number;
      });
    });
  if (choice.about == Choice::About::Receive) {
    const Receive& receive = at_receive(choice.subject);
    if (is_unsettled(choice.subject)) return true;
    return may_still_send(receive.wanted, receive.closed, waits_for(choice.rank, choice.subject));
  }
  if (choice.about == Choice::About::Send) return false;
  const Asker& asker = asker_of(choice);
  const Question& question = asker.question;
  if (asker.probes()) return may_still_send(question.wanted, asker.closed, true);
  if (question.kind == Question::Kind::All) return !question.operations.empty() && choice.options.size() == 1;
  // A request that could not be reported now.
  std::size_t active = 0;
  for (const OperationId id : question.operations) active += is_active(who, id);
  return ready(asker).size() < active;
}

// An option that contradicts what was seen before. What a rank is shown or told is the last thing that happens, so
// everything can have been before it, if it can have been at all. (There may be thousands of sets that MPI_Waitsome could
// report.)
void Matcher::drop_impossible(Choice& choice) {
  if (!needs_check_) return;
  std::optional<bool> so_far;
  std::erase_if(choice.options, [&](const Option& option) {
    switch (option.kind) {
      case Option::Kind::Take:
      case Option::Kind::No:
      case Option::Kind::Cancelled:
        if (Feasibility(*this, &choice, &option).possible()) return false;
        break;
      case Option::Kind::Show:
      case Option::Kind::Report:
        if (!so_far) so_far = Feasibility(*this).possible();
        if (*so_far) return false;
        break;
      default: return false;
    }
    // What contradicts now will contradict later, too.
    if (option.message >= 0) {
      auto& closed =
          choice.about == Choice::About::Receive ? at_receive(choice.subject).closed : asker_of(choice).closed;
      closed.push_back(mail(option.message).source);
    }
    return true;
  });
}

std::optional<Choice> Matcher::next_choice() {
  std::vector<Choice> all;
  bool pauses = false;
  for (int rank = 0; rank < ranks(); ++rank) {
    add_receive_choices(rank, all);
    const auto& askers = at(rank).askers;
    for (std::size_t i = 0; i < askers.size(); ++i) {
      if (auto choice = question_choice(rank, static_cast<int>(i))) all.push_back(std::move(*choice));
      const Asker& asker = askers[i];
      pauses |= asker.asks && asker.question.kind == Question::Kind::Pause;
      if (asker.asks && asker.question.may_say_no && !asker.will_say_yes && polls_too_long(asker))
        cut_by_poll_bound_ = true;
    }
  }
  if (one_sided_.used()) add_turn_choices(all);
  if (needs_check_) forget_past();
  const auto urgency = [&](const Choice& choice) {
    if (choice.about == Choice::About::Receive && is_unsettled(choice.subject)) return 8;
    if (choice.about == Choice::About::Receive) return waits_for(choice.rank, choice.subject) ? 0 : 2;
    if (choice.about == Choice::About::Send) return 4;
    if (choice.about == Choice::About::Turn) return 5;
    const Asker& asker = asker_of(choice);
    if (asker.question.may_say_no && !asker.will_say_yes) return 6;
    return asker.probes() ? 1 : 3;
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Choice& one, const Choice& other) { return urgency(one) < urgency(other); });
  // What contradicts the rest takes time to find out, so only as many are looked at as matter: the first one, and
  // whether there is another. What has no option left waits for others.
  Choice* first = nullptr;
  bool has_others = false;
  for (Choice& choice : all) {
    drop_impossible(choice);
    if (choice.options.empty()) continue;
    has_others = first != nullptr;
    if (has_others) break;
    first = &choice;
  }
  if (!first) return std::nullopt;
  const bool passes_on =
      first->about == Choice::About::Receive && is_unsettled(first->subject) && wanted_by_others(*first);
  if ((has_others || passes_on || pauses || first->may_wait) && could_come(*first))
    first->options.push_back(plain_option(Option::Kind::Sleep));
  return std::move(*first);
}

std::vector<Answer> Matcher::apply(const Choice& choice, const Option& option) {
  Rank& who = at(choice.rank);
  switch (option.kind) {
    case Option::Kind::Take: take(choice.subject, option.message); return {};
    case Option::Kind::Cancelled:
      at_receive(choice.subject).cancelled = true;
      std::erase(who.pending, choice.subject);
      return {};
    case Option::Kind::Show: return {answer_probe(asker_of(choice), option.message)};
    case Option::Kind::Report: return {answer(asker_of(choice), option.reported)};
    case Option::Kind::No: return {answer_no(asker_of(choice))};
    case Option::Kind::Buffered: mail(choice.subject).optional = false; return {};
    case Option::Kind::Stuck: mail(choice.subject).stuck = true; return {};
    case Option::Kind::Dead:
      asker_of(choice).dead = true;
      for (const OperationId id : asker_of(choice).question.operations)
        if (const Operation* const found = operation(choice.rank, id); found && found->kind == Operation::Kind::Send)
          mail(found->index).stuck = true;
      return {};
    case Option::Kind::Turn: one_sided_.choose(option.item); return {};
    case Option::Kind::Sleep: break;
  }
  if (choice.about == Choice::About::Turn) {
    std::vector<int> items;
    for (const Option& other : choice.options)
      if (other.item >= 0) items.push_back(other.item);
    one_sided_.sleep(items);
    return {};
  }
  needs_check_ = true;
  if (choice.about == Choice::About::Receive) {
    Receive& receive = at_receive(choice.subject);
    receive.sleeps = true;
    for (const Option& other : choice.options) {
      if (other.message >= 0) receive.closed.push_back(mail(other.message).source);
      if (other.kind == Option::Kind::Cancelled) receive.takes = true;
    }
    return {};
  }
  Asker& asker = asker_of(choice);
  asker.sleeps = true;
  asker.will_say_yes = asker.question.may_say_no;
  for (const Option& other : choice.options) {
    if (other.message >= 0) asker.closed.push_back(mail(other.message).source);
    for (const std::uint32_t index : other.reported) asker.excluded[index] = true;
  }
  return {};
}

}  // namespace reprise::explore
