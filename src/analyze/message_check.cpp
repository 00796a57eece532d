#include "analyze/message_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace reprise::analyze {
namespace {

using engine::Category;

class Check {
 public:
  explicit Check(const std::vector<MessageLog>& ranks) : ranks_(ranks) {}

  void compare_messages(bool is_whole);
  void compare_collectives();
  std::vector<MessageFinding> take() { return std::move(found_); }

 private:
  struct Sent {
    std::uint32_t rank;
    const LoggedMessage* message;
    bool taken = false;
  };
  // Communicator, source, destination: there messages keep their order (MPI 4.0, 3.5).
  using Channel = std::tuple<std::uint64_t, std::int64_t, std::int64_t>;
  struct Queue {
    std::vector<Sent> sends;
    std::size_t first = 0;  // that may still be there

    Sent* take(std::int64_t tag) {
      while (first < sends.size() && sends[first].taken) ++first;
      const auto from = sends.begin() + static_cast<std::ptrdiff_t>(first);
      const auto found = std::find_if(from, sends.end(), [&](const Sent& sent) {
        return !sent.taken && (tag < 0 || tag == sent.message->tag);
      });
      if (found == sends.end()) return nullptr;
      found->taken = true;
      return &*found;
    }
  };
  struct Member {
    std::uint32_t rank;
    std::vector<const LoggedCollective*> all;
  };

  void add(Category category, std::string words, std::uint32_t rank, std::uint64_t place, std::uint32_t other,
           std::uint64_t other_place);
  void compare(std::uint32_t rank, const LoggedMessage& receive, const Sent& sent);
  bool compare(const Member& first, const Member& other, std::size_t number);
  void compare_data(const std::vector<Member>& members, std::size_t number);
  void compare_data(std::uint32_t giver, const LoggedCollective& gives, const LoggedData& given, std::uint32_t taker,
                    const LoggedCollective& takes, const LoggedData& taken);
  std::string call_at(std::uint32_t rank, std::uint64_t place) const {
    std::string name = ranks_[rank].places[place];
    name = name.substr(0, name.find('|'));
    if (name.ends_with("_c")) name.resize(name.size() - 2);  // the same with wider counts
    return name;
  }

  const std::vector<MessageLog>& ranks_;
  std::vector<MessageFinding> found_;
  std::set<std::tuple<Category, std::string, std::string>> said_;
};

void Check::add(Category category, std::string words, std::uint32_t rank, std::uint64_t place, std::uint32_t other,
                std::uint64_t other_place) {
  const std::string& here = ranks_[rank].places[place];
  const std::string& there = ranks_[other].places[other_place];
  if (!said_.emplace(category, here, there).second) return;
  MessageFinding finding{category, std::move(words), {{rank, &here}}};
  if (rank != other || place != other_place) finding.places.push_back({other, &there});
  found_.push_back(std::move(finding));
}

void Check::compare(std::uint32_t rank, const LoggedMessage& receive, const Sent& sent) {
  const LoggedData& given = sent.message->data;
  if (!receive.data.signature || !given.signature) return;
  if (given.bytes > receive.data.bytes) {
    if (!receive.is_fatal) return;  // the program has a handler for that
    add(Category::Truncation, fmt::format("{} bytes sent, room for {}", given.bytes, receive.data.bytes), rank,
        receive.place, sent.rank, sent.message->place);
    return;
  }
  std::string words = engine::difference(*given.signature, *receive.data.signature, given.bytes);
  if (!words.empty())
    add(Category::TypeMismatch, std::move(words), rank, receive.place, sent.rank, sent.message->place);
}

// Receives take, in the order in which they were posted, the first message of their channel that has their tag.
void Check::compare_messages(bool is_whole) {
  std::map<Channel, Queue> channels;
  std::set<std::pair<std::uint64_t, std::int64_t>> lost;  // communicator and receiver: nobody knows what it took
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    for (const LoggedMessage& send : ranks_[rank].sends)
      if (!ranks_[rank].unordered) channels[{send.comm, send.source, send.dest}].sends.push_back({rank, &send});
  bool all_known = true;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    all_known = all_known && !ranks_[rank].unordered;
    if (ranks_[rank].unordered) continue;
    for (const LoggedMessage& receive : ranks_[rank].receives) {
      if (!receive.known) {
        lost.emplace(receive.comm, receive.dest);
        all_known = false;
      }
      if (lost.contains({receive.comm, receive.dest})) continue;
      const auto channel = channels.find({receive.comm, receive.source, receive.dest});
      const Sent* const taken = channel == channels.end() ? nullptr : channel->second.take(receive.tag);
      if (taken) compare(rank, receive, *taken);
    }
  }
  if (!is_whole || !all_known) return;
  for (const auto& [channel, queue] : channels)
    for (const Sent& sent : queue.sends)
      if (!sent.taken)
        add(Category::LostSend, "nobody received it", sent.rank, sent.message->place, sent.rank, sent.message->place);
}

void Check::compare_data(std::uint32_t giver, const LoggedCollective& gives, const LoggedData& given,
                         std::uint32_t taker, const LoggedCollective& takes, const LoggedData& taken) {
  if (!given.signature || !taken.signature) return;
  std::string words = given.bytes != taken.bytes
                          ? fmt::format("{} bytes given, {} expected", given.bytes, taken.bytes)
                          : engine::difference(*given.signature, *taken.signature, given.bytes);
  if (!words.empty()) add(Category::CollectiveTypes, std::move(words), taker, takes.place, giver, gives.place);
}

// False: they do not even do the same, so what comes after cannot be compared.
bool Check::compare(const Member& first, const Member& other, std::size_t number) {
  const LoggedCollective& one = *first.all[number];
  const LoggedCollective& two = *other.all[number];
  const char* words = call_at(first.rank, one.place) != call_at(other.rank, two.place) ? "different collectives"
                      : one.root != two.root                                           ? "different roots"
                      : one.operation != two.operation                                 ? "different operations"
                                                                                       : nullptr;
  if (words) add(Category::Mismatch, words, first.rank, one.place, other.rank, two.place);
  return !words;
}

// What is combined must be the same everywhere; otherwise what somebody gives is what somebody takes.
void Check::compare_data(const std::vector<Member>& members, std::size_t number) {
  const auto first = [&](auto part) {
    return std::find_if(members.begin(), members.end(), [&](const Member& member) {
      return number < member.all.size() && (member.all[number]->*part).signature;
    });
  };
  const auto giver = first(&LoggedCollective::gives);
  const auto taker = first(&LoggedCollective::takes);
  if (giver == members.end() || (taker == members.end() && giver->all[number]->operation == 0)) return;
  const LoggedCollective& gives = *giver->all[number];
  for (const Member& member : members) {
    if (number >= member.all.size()) continue;
    const LoggedCollective& mine = *member.all[number];
    if (gives.operation != 0) {
      compare_data(giver->rank, gives, gives.gives, member.rank, mine, mine.gives);
    } else {
      compare_data(giver->rank, gives, gives.gives, member.rank, mine, mine.takes);
      compare_data(member.rank, mine, mine.gives, taker->rank, *taker->all[number], taker->all[number]->takes);
    }
  }
}

void Check::compare_collectives() {
  std::map<std::uint64_t, std::map<std::int64_t, Member>> communicators;
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank)
    for (const LoggedCollective& one : ranks_[rank].collectives) {
      Member& member = communicators[one.comm][one.member];
      member.rank = rank;
      if (!ranks_[rank].unordered) member.all.push_back(&one);
    }
  for (const auto& [comm, by_rank] : communicators) {
    std::vector<Member> members;
    std::size_t longest = 0;
    for (const auto& [number, member] : by_rank) {
      members.push_back(member);
      longest = std::max(longest, member.all.size());
    }
    for (std::size_t number = 0; number < longest; ++number) {
      const auto first = std::find_if(members.begin(), members.end(),
                                      [&](const Member& member) { return number < member.all.size(); });
      bool same = true;
      for (auto other = first; other != members.end(); ++other)
        if (other != first && number < other->all.size()) same = same && compare(*first, *other, number);
      if (!same) break;
      compare_data(members, number);
    }
  }
}

}  // namespace

std::vector<MessageFinding> check_messages(const std::vector<MessageLog>& ranks, bool is_whole) {
  Check check(ranks);
  check.compare_messages(is_whole);
  check.compare_collectives();
  return check.take();
}

}  // namespace reprise::analyze
