#include "explore/guide.hpp"

#include <algorithm>
#include <numeric>

namespace reprise::explore {

namespace {

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ull ^ (b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ull;
  return x ^ x >> 29;
}

// An order that sleeps on what may never come may turn out to be none.
bool is_safe(const Option& option) { return option.kind != Option::Kind::Sleep; }

const Question* question_of(const Matcher& matcher, const Choice& choice) {
  return choice.about == Choice::About::Question ? matcher.question(choice.rank, choice.subject) : nullptr;
}

}  // namespace

Constraint constraint_of(const Matcher& matcher, const Choice& choice, const Option& option) {
  Constraint constraint;
  constraint.about = choice.about;
  constraint.rank = choice.rank;
  constraint.kind = option.kind;
  constraint.reported = option.reported;
  if (option.message >= 0) {
    const Message& message = matcher.messages()[static_cast<std::size_t>(option.message)];
    constraint.source = message.source;
    constraint.number = message.number;
  }
  if (option.item >= 0) {
    const OneSidedItem& item = matcher.one_sided().item(option.item);
    constraint.source = item.rank;
    constraint.number = item.number;
  }
  if (choice.about == Choice::About::Turn) {
    const OneSidedItem& item = matcher.one_sided().item(option.item >= 0 ? option.item : choice.subject);
    constraint.place = matcher.one_sided().place_of(choice.subject);
    constraint.ordinal = matcher.one_sided().turns_at(constraint.place);
    constraint.site = item.site;
    constraint.function = item.function;
    constraint.iteration = item.iteration;
  } else if (choice.about == Choice::About::Receive) {
    const auto& all = matcher.receives_of(choice.rank);
    constraint.ordinal = static_cast<std::uint32_t>(std::find(all.begin(), all.end(), choice.subject) - all.begin());
    const Receive& receive = matcher.receives()[static_cast<std::size_t>(choice.subject)];
    constraint.site = receive.site;
    constraint.function = receive.function;
    constraint.iteration = receive.iteration;
  } else if (choice.about == Choice::About::Send) {
    const Message& message = matcher.messages()[static_cast<std::size_t>(choice.subject)];
    constraint.ordinal = message.number;
    constraint.site = message.site;
    constraint.function = message.function;
    constraint.iteration = message.iteration;
  } else if (const Question* const question = question_of(matcher, choice)) {
    constraint.ordinal = matcher.asked_by(choice.rank);
    constraint.site = question->site;
    constraint.function = question->function;
    constraint.iteration = question->iteration;
  }
  return constraint;
}

bool Guide::reduces() const {
  return options_.focus.any() || options_.loop_bound > 0 || options_.mix || !options_.symmetric.empty() ||
         options_.symmetric_by_history || options_.random_walk;
}

// A match is looked at closely if either side of it is.
bool Guide::in_focus(const Matcher& matcher, const Choice& choice, const Option& option) const {
  const Focus& focus = options_.focus;
  if (!focus.any()) return true;
  const auto covered = [&](int rank, std::uint64_t site, bool in_region) {
    if (focus.ranks.contains(rank)) return true;
    if (focus.regions && in_region) return true;
    return focus.covers && site != 0 && focus.covers(site);
  };
  if (choice.about == Choice::About::Receive) {
    const Receive& receive = matcher.receives()[static_cast<std::size_t>(choice.subject)];
    if (covered(receive.rank, receive.site, receive.in_region)) return true;
  } else if (choice.about == Choice::About::Send) {
    const Message& message = matcher.messages()[static_cast<std::size_t>(choice.subject)];
    if (covered(message.source, message.site, message.in_region)) return true;
  } else if (const Question* const question = question_of(matcher, choice)) {
    if (covered(choice.rank, question->site, question->in_region)) return true;
  } else if (choice.about == Choice::About::Turn) {
    const OneSidedItem& item = matcher.one_sided().item(option.item >= 0 ? option.item : choice.subject);
    if (covered(item.rank, item.site, item.in_region) || covered(item.target, 0, false)) return true;
  }
  if (option.message < 0) return false;
  const Message& message = matcher.messages()[static_cast<std::size_t>(option.message)];
  return covered(message.source, message.site, message.in_region);
}

bool Guide::beyond_bounds(const Situation& situation) const {
  if (options_.mix && situation.given > 0 && situation.depth >= situation.given + *options_.mix) return true;
  if (options_.loop_bound == 0) return false;
  const Choice& choice = situation.choice;
  std::uint32_t iteration = 0;
  if (choice.about == Choice::About::Receive)
    iteration = situation.matcher.receives()[static_cast<std::size_t>(choice.subject)].iteration;
  else if (choice.about == Choice::About::Send)
    iteration = situation.matcher.messages()[static_cast<std::size_t>(choice.subject)].iteration;
  else if (choice.about == Choice::About::Turn) iteration = situation.matcher.one_sided().item(choice.subject).iteration;
  else if (const Question* const question = question_of(situation.matcher, choice)) iteration = question->iteration;
  return iteration >= options_.loop_bound;
}

// What the rank heard there in the recorded run.
std::optional<std::uint32_t> Guide::as_recorded(const Situation& situation) const {
  const Choice& choice = situation.choice;
  const auto rank = static_cast<std::size_t>(choice.rank);
  if (rank >= options_.near.size()) return std::nullopt;
  const auto nth = situation.matcher.wildcard_number(choice);
  if (!nth || *nth >= options_.near[rank].size()) return std::nullopt;
  std::optional<std::uint32_t> later;
  for (std::uint32_t i = 0; i < choice.options.size(); ++i) {
    const Option& option = choice.options[i];
    if (option.kind == Option::Kind::Sleep) later = i;
    if (option.message < 0) continue;
    if (situation.matcher.messages()[static_cast<std::size_t>(option.message)].source == options_.near[rank][*nth])
      return i;
  }
  return later;  // it has not been sent yet
}

// Of senders that stand for each other, only the first is tried.
void Guide::drop_symmetric(const Situation& situation, std::vector<std::uint32_t>& tried) const {
  const auto sender = [&](std::uint32_t option) {
    const int message = situation.choice.options[option].message;
    return message < 0 ? -1 : situation.matcher.messages()[static_cast<std::size_t>(message)].source;
  };
  std::map<std::uint64_t, int> seen;  // what they have done so far -> who
  std::erase_if(tried, [&](std::uint32_t option) {
    const int rank = sender(option);
    if (rank < 0 || rank == situation.choice.rank) return false;
    if (!options_.symmetric_by_history && !options_.symmetric.contains(rank)) return false;
    const auto [known, is_new] = seen.try_emplace(situation.matcher.history_of(rank), rank);
    return !is_new && known->second != rank;
  });
}

std::optional<std::vector<std::uint32_t>> Guide::as_demanded(const Situation& situation) const {
  if (options_.demanded.empty()) return std::nullopt;
  const std::vector<Option>& all = situation.choice.options;
  const Constraint any = constraint_of(situation.matcher, situation.choice, all.front());
  const auto wanted = std::find_if(options_.demanded.begin(), options_.demanded.end(),
                                   [&](const Constraint& one) { return one.is_about_same(any); });
  if (wanted == options_.demanded.end()) return std::nullopt;
  std::vector<std::uint32_t> fitting;
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (constraint_of(situation.matcher, situation.choice, all[i]).is_same(*wanted)) fitting.push_back(i);
  // It may not have been sent yet.
  for (std::uint32_t i = 0; fitting.empty() && i < all.size(); ++i)
    if (all[i].kind == Option::Kind::Sleep) fitting.push_back(i);
  return fitting;
}

std::vector<std::uint32_t> Guide::options(const Situation& situation) {
  if (auto demanded = as_demanded(situation)) return std::move(*demanded);
  const std::vector<Option>& all = situation.choice.options;
  std::vector<std::uint32_t> tried(all.size());
  std::iota(tried.begin(), tried.end(), 0);
  if (const auto recorded = as_recorded(situation)) {
    std::erase(tried, *recorded);
    tried.insert(tried.begin(), *recorded);
  }
  if (!reduces()) return tried;
  if (!options_.symmetric.empty() || options_.symmetric_by_history) drop_symmetric(situation, tried);
  const bool beyond = beyond_bounds(situation);
  const auto close = [&](std::uint32_t option) {
    return !beyond && !options_.random_walk && in_focus(situation.matcher, situation.choice, all[option]);
  };
  std::vector<std::uint32_t> others;
  std::copy_if(tried.begin(), tried.end(), std::back_inserter(others), [&](std::uint32_t i) { return !close(i); });
  if (!others.empty()) {
    std::vector<std::uint32_t> safe;
    std::copy_if(others.begin(), others.end(), std::back_inserter(safe),
                 [&](std::uint32_t i) { return is_safe(all[i]); });
    std::erase_if(tried, [&](std::uint32_t i) { return !close(i); });
    const std::vector<std::uint32_t>& from = !safe.empty() ? safe : others;
    if (!safe.empty() || tried.empty()) {
      const std::uint64_t chance = mixed(mixed(options_.seed, situation.walk), situation.history);
      tried.insert(tried.begin(), options_.near.empty() ? from[chance % from.size()] : from.front());
    }
  }
  if (tried.size() < all.size()) {
    left_out_ += all.size() - tried.size();
    ++choices_cut_;
  }
  return tried;
}

}  // namespace reprise::explore
