// How a run ended: who waits for what, and what was left over.
#include <fmt/format.h>

#include <algorithm>

#include "explore/run.hpp"

namespace reprise::explore {

namespace {

std::string with_tag(std::string text, int tag) { return tag == kAnyTag ? text : text + fmt::format(", tag {}", tag); }

std::string source_words(const Wanted& wanted) {
  return with_tag(wanted.source == kAnybody ? "from anybody" : fmt::format("from {}", wanted.source), wanted.tag);
}

std::string rank_list(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += fmt::format("{}{}", i == 0 ? " " : ", ", ranks[i]);
  return text;
}

}  // namespace

// What a question waits for, in words.
std::string Run::awaited(int rank, const Question& question) const {
  if (question.kind == Question::Kind::Probe || question.kind == Question::Kind::Take)
    return source_words(question.wanted);
  for (const OperationId id : question.operations) {
    const Matcher::Operation* const operation = matcher_.operation(rank, id);
    if (!operation || matcher_.is_complete(*operation)) continue;
    if (operation->kind == Matcher::Operation::Kind::Receive)
      return source_words(matcher_.receives()[static_cast<std::size_t>(operation->index)].wanted);
    if (operation->kind == Matcher::Operation::Kind::Send) {
      const Message& message = matcher_.messages()[static_cast<std::size_t>(operation->index)];
      return with_tag(fmt::format("to {}", message.dest), message.tag);
    }
    if (operation->kind == Matcher::Operation::Kind::OneSided) return awaited_lock(operation->index);
    const auto absent = matcher_.missing(operation->index);
    return absent.empty() ? "" : "without " + rank_list(absent);
  }
  return "";
}

std::vector<Place> Run::places_of(int rank) const {
  std::vector<Place> places;
  for (const auto& [thread, question] : matcher_.questions(rank))
    if (question->kind != Question::Kind::Pause)
      places.push_back({rank, thread, question->site, question->function, awaited(rank, *question), 0});
  const auto& locked = locked_[static_cast<std::size_t>(rank)];
  places.insert(places.end(), locked.begin(), locked.end());
  std::sort(places.begin(), places.end(),
            [](const Place& one, const Place& other) { return one.thread < other.thread; });
  if (!places.empty()) return places;
  const auto& seat = stage_->seats[rank];
  return {{rank, 0, seat.caller.load(std::memory_order_relaxed),
           static_cast<std::uint32_t>(seat.function.load(std::memory_order_relaxed)), "", 0}};
}

void Run::look_for_leftovers(RunResult& result) {
  Problem sends{Category::LostSend, {}, 0, "", false};
  Problem receives{Category::LostReceive, {}, 0, "", false};
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    for (const int number : matcher_.inbox_of(rank)) {
      const Message& message = matcher_.messages()[static_cast<std::size_t>(number)];
      if (message.site == 0) continue;  // not the program's own
      sends.places.push_back({message.source, 0, message.site, message.function,
                              with_tag(fmt::format("to {}", message.dest), message.tag), 0});
    }
    for (const int number : matcher_.pending_of(rank)) {
      const Receive& receive = matcher_.receives()[static_cast<std::size_t>(number)];
      if (receive.site == 0) continue;
      receives.places.push_back({rank, 0, receive.site, receive.function, source_words(receive.wanted), 0});
    }
  }
  for (Problem* const problem : {&sends, &receives})
    if (!problem->places.empty()) result.problems.push_back(std::move(*problem));
}

// Is somebody left who could not go on even if every send were buffered, whatever those did who then could? The largest
// set of ranks in which everybody waits for members, or for ranks that have ended.
bool Run::stuck_anyway(const std::vector<int>& blocked) const {
  std::set<int> stuck(blocked.begin(), blocked.end());
  const auto helps = [&](int rank) { return !stuck.contains(rank) && !matcher_.has_ended(rank); };
  const auto may_come = [&](const Wanted& wanted) {
    if (wanted.source != kAnybody) return helps(wanted.source);
    for (int rank = 0; rank < matcher_.ranks(); ++rank)
      if (helps(rank)) return true;
    return false;
  };
  const auto may_complete = [&](int rank, OperationId id) {
    const Matcher::Operation* const operation = matcher_.operation(rank, id);
    if (!operation || matcher_.is_complete_if_buffered(*operation)) return true;
    const auto index = static_cast<std::size_t>(operation->index);
    if (operation->kind == Matcher::Operation::Kind::Receive) return may_come(matcher_.receives()[index].wanted);
    if (operation->kind == Matcher::Operation::Kind::Send) return helps(matcher_.messages()[index].dest);
    if (operation->kind == Matcher::Operation::Kind::OneSided) {
      const auto holders = matcher_.one_sided().holders(operation->index);
      return std::all_of(holders.begin(), holders.end(), helps);
    }
    const auto absent = matcher_.missing(operation->index);
    return std::all_of(absent.begin(), absent.end(), helps);
  };
  const auto is_answered = [&](int rank, const Question& question) {
    if (question.kind == Question::Kind::Pause) return false;
    if (question.kind == Question::Kind::Probe || question.kind == Question::Kind::Take)
      return may_come(question.wanted);
    const auto completes = [&](OperationId id) { return may_complete(rank, id); };
    const auto& all = question.operations;
    return question.kind == Question::Kind::All ? std::all_of(all.begin(), all.end(), completes)
                                                : std::any_of(all.begin(), all.end(), completes);
  };
  // One of its threads is enough.
  const auto may_go_on = [&](int rank) {
    const auto open = matcher_.questions(rank);
    return std::any_of(open.begin(), open.end(), [&](const auto& one) { return is_answered(rank, *one.question); });
  };
  while (std::erase_if(stuck, may_go_on) > 0) {}
  return !stuck.empty();
}

bool Run::is_stalled(const RunResult& result) {
  return std::any_of(result.problems.begin(), result.problems.end(),
                     [](const Problem& problem) { return problem.category == Category::Stalled; });
}

void Run::conclude(RunResult& result) {
  result.decided_too_early = matcher_.decided_too_early();
  result.has_windows = matcher_.one_sided().causality.on();
  result.cut_off = matcher_.cut_by_poll_bound() || matcher_.cut_sets();
  if (is_stalled(result)) return;
  const bool ended = fatal_ || matcher_.mismatch().has_value();
  // Before its end, a run need only be possible so far.
  result.counts = ended ? !matcher_.anybody_asleep() && matcher_.is_possible_so_far() : matcher_.is_possible();
  for (int rank = 0; rank < matcher_.ranks(); ++rank) {
    std::vector<std::string> taken;
    for (const int number : matcher_.receives_of(rank)) {
      const Receive& receive = matcher_.receives()[static_cast<std::size_t>(number)];
      if (receive.took < 0) {
        taken.emplace_back(receive.cancelled ? "cancelled" : "");
        continue;
      }
      const Message& message = matcher_.messages()[static_cast<std::size_t>(receive.took)];
      taken.push_back(fmt::format("{}.{}", message.source, message.number));
    }
    result.taken.push_back(std::move(taken));
    if (matcher_.asks(rank) || !locked_[static_cast<std::size_t>(rank)].empty()) result.blocked.push_back(rank);
  }
  if (!result.counts) {
    result.problems.clear();
    return;
  }
  if (const auto& mismatch = matcher_.mismatch()) {
    Problem problem{Category::Mismatch, {}, 0, "", false};
    for (const int index : {mismatch->first, mismatch->second}) {
      const Matcher::Member& member = matcher_.member(index);
      const Entrance& entrance = member.entrance;
      problem.places.push_back({member.rank, 0, entrance.site, entrance.function,
                                entrance.detail >= 0 ? fmt::format("root {}", entrance.detail) : "", 0});
    }
    const Place& first = problem.places[0];
    const Place& second = problem.places[1];
    problem.words = first.function != second.function ? "different collectives"
                    : first.detail != second.detail   ? "different roots"
                                                      : "different operations";
    result.problems.push_back(std::move(problem));
    return;
  }
  if (fatal_) return;
  if (result.blocked.empty()) {
    look_for_leftovers(result);
    return;
  }
  Problem problem{livelock_ ? Category::Livelock : Category::Deadlock, {}, 0, "", false};
  for (const int rank : result.blocked)
    for (Place& place : places_of(rank)) problem.places.push_back(std::move(place));
  problem.needs_unbuffered = options_.buffering != Buffering::Infinite && !stuck_anyway(result.blocked);
  result.problems.push_back(std::move(problem));
}

}  // namespace reprise::explore
