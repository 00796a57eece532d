#include "explore/matcher.hpp"

#include <algorithm>
#include <utility>

#include "explore/feasibility.hpp"

namespace reprise::explore {

namespace {

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
      ranks_(static_cast<std::size_t>(ranks)),
      one_sided_(cancelled_sites_) {}

// --- what the ranks do -----------------------------------------------------------------------------------------------

void Matcher::remember(int rank, std::initializer_list<std::uint64_t> what) {
  std::uint64_t& history = at(rank).history;
  for (const std::uint64_t word : what) {
    history = (history ^ word) * 0x9e3779b97f4a7c15ull;
    history ^= history >> 32;
  }
}

void Matcher::send(int rank, OperationId id, Message message, SendMode mode) {
  message.source = rank;
  message.iteration = at(rank).iterations[message.site]++;
  remember(rank, {1, message.site, message.comm, static_cast<std::uint64_t>(message.dest),
                  static_cast<std::uint64_t>(message.tag), message.bytes, message.content});
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
  one_sided_.causality.leave(Causality::Of::Message, number, rank);
}

void Matcher::receive(int rank, OperationId id, const Wanted& wanted, std::uint64_t site, std::uint32_t function,
                      bool in_region) {
  const int number = static_cast<int>(receives_.size());
  Receive receive;
  receive.rank = rank;
  receive.wanted = wanted;
  receive.posted_at = new_event(rank);
  receive.site = site;
  receive.function = function;
  receive.iteration = at(rank).iterations[site]++;
  receive.in_region = in_region;
  if (wanted.source == kAnybody) receive.wildcard = at(rank).wildcards++;
  remember(rank,
           {2, site, wanted.comm, static_cast<std::uint64_t>(wanted.source), static_cast<std::uint64_t>(wanted.tag)});
  receive.may_be_cancelled = cancelled_sites_.contains(site);
  receives_.push_back(std::move(receive));
  at(rank).receives.push_back(number);
  at(rank).live_receives.push_back(number);
  at(rank).pending.push_back(number);
  at(rank).operations[id] = {Operation::Kind::Receive, number};
  one_sided_.causality.leave(Causality::Of::Receive, number, rank);
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
  remember(rank, {3, entrance.comm, entrance.signature, entrance.site});
  const std::uint64_t key = digest(entrance.comm, who.collectives[entrance.comm]++);
  Collective& collective = collectives_[key];
  const int number = static_cast<int>(members_.size());
  if (!collective.members.empty() && !mismatch_ &&
      member(collective.members.front()).entrance.signature != entrance.signature)
    mismatch_ = Mismatch{collective.members.front(), number};
  collective.members.push_back(number);
  members_.push_back({rank, std::move(entrance), new_event(rank), static_cast<std::size_t>(key)});
  who.operations[id] = {Operation::Kind::Collective, number};
  one_sided_.causality.leave(Causality::Of::Member, number, rank);
}

void Matcher::add_one_sided(int rank, OperationId id, OneSidedItem item) {
  item.rank = rank;
  item.iteration = at(rank).iterations[item.site]++;
  remember(rank, {8, item.site, item.window, static_cast<std::uint64_t>(item.target)});
  at(rank).operations[id] = {Operation::Kind::OneSided, one_sided_.add(std::move(item))};
}

std::set<std::uint64_t> Matcher::decided_too_early() const {
  std::set<std::uint64_t> all = decided_too_early_;
  all.insert(one_sided_.decided_too_early().begin(), one_sided_.decided_too_early().end());
  return all;
}

void Matcher::ask(int rank, Question question, std::uint32_t thread) {
  auto& all = at(rank).askers;
  auto known = std::find_if(all.begin(), all.end(), [&](const Asker& one) { return one.thread == thread; });
  if (known == all.end()) {
    known = all.emplace(all.end());
    known->rank = rank;
    known->thread = thread;
  }
  Asker& who = *known;
  who.asks = true;
  who.closed.clear();
  who.excluded.assign(question.operations.size(), false);
  who.sleeps = false;
  who.will_say_yes = false;
  who.dead = false;
  if (!question.looks_only) {
    ++at(rank).asked;
    question.iteration = at(rank).iterations[question.site ^ 1]++;  // apart from what is posted there
    const bool probes = question.kind == Question::Kind::Probe || question.kind == Question::Kind::Take;
    if (probes && !question.may_say_no && question.wanted.source == kAnybody) question.wildcard = at(rank).wildcards++;
    remember(rank, {4, static_cast<std::uint64_t>(question.kind), question.site});
  }
  who.question = std::move(question);
}

void Matcher::ended(int rank) {
  at(rank).ended = true;
  for (Asker& asker : at(rank).askers) asker.asks = false;
}

std::vector<Matcher::Open> Matcher::questions(int rank) const {
  std::vector<Open> open;
  for (const Asker& asker : at(rank).askers)
    if (asker.asks) open.push_back({asker.thread, &asker.question});
  return open;
}

std::optional<std::uint32_t> Matcher::wildcard_number(const Choice& choice) const {
  if (choice.about == Choice::About::Receive) return at_receive(choice.subject).wildcard;
  if (choice.about == Choice::About::Question) return question(choice.rank, choice.subject)->wildcard;
  return std::nullopt;
}

bool Matcher::asks(int rank) const {
  return std::any_of(at(rank).askers.begin(), at(rank).askers.end(), [](const Asker& asker) { return asker.asks; });
}

const Matcher::Operation* Matcher::operation(int rank, OperationId id) const {
  const auto found = at(rank).operations.find(id);
  return found == at(rank).operations.end() ? nullptr : &found->second;
}

// --- matching --------------------------------------------------------------------------------------------------------

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
    if (!is_contested(who, message, earlier)) found.push_back(number);
  }
  return found;
}

bool Matcher::is_contested(const Rank& who, const Message& message, std::size_t earlier) const {
  return std::any_of(who.pending.begin(), who.pending.begin() + static_cast<std::ptrdiff_t>(earlier), [&](int other) {
    const Receive& before = at_receive(other);
    return accepts(before.wanted, message) && !contains(before.closed, message.source);
  });
}

// As long as every receive takes the next message of its sender, messages can have come in the order in which they were
// taken. One that passes over another says that the other one had come, too, and so who else could have had that.
void Matcher::take(int receive, int message) {
  Receive& taker = at_receive(receive);
  const Message& taken = mail(message);
  needs_check_ = needs_check_ || std::any_of(at(taker.rank).inbox.begin(), at(taker.rank).inbox.end(), [&](int other) {
                   return other < message && mail(other).source == taken.source && mail(other).comm == taken.comm;
                 });
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
    case Operation::Kind::OneSided: return one_sided_.item(operation.index).done;
    case Operation::Kind::Collective:
      return is_collective_complete(member(operation.index), buffering_ == Buffering::None);
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

// --- the end ---------------------------------------------------------------------------------------------------------

bool Matcher::anybody_asleep() const {
  if (one_sided_.anybody_asleep()) return true;
  for (const Rank& rank : ranks_) {
    if (std::any_of(rank.pending.begin(), rank.pending.end(), [&](int one) { return at_receive(one).asleep(); }))
      return true;
    if (std::any_of(rank.askers.begin(), rank.askers.end(), [](const Asker& one) { return one.asks && one.sleeps; }))
      return true;
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
    for (const Asker& asker : rank.askers) {
      if (!asker.asks) continue;
      if (asker.probes() && is_left(asker.question.wanted)) return false;
      if (!asker.dead) continue;
      for (const OperationId id : asker.question.operations)
        if (const auto found = rank.operations.find(id); found != rank.operations.end() && is_complete(found->second))
          return false;
    }
  }
  return is_possible_so_far();
}

bool Matcher::is_possible_so_far() const { return !needs_check_ || Feasibility(*this).possible(); }

}  // namespace reprise::explore
