#include "flow/counterparts.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>

namespace reprise::flow {

using trace::IntentionForm;
using trace::IntentionRecord;

Counterparts::Counterparts(Verdict& verdict) {
  for (Violation& violation : verdict.violations) {
    const bool beside = violation.kind == Violation::Kind::WrittenBehind || violation.kind == Violation::Kind::WrittenBetween;
    if (!beside || violation.members.size() != 1) continue;
    const Part& part = violation.members[0];
    const auto same = [&](const Wanted& one) { return one.rank == part.rank && one.call == part.call; };
    auto found = std::ranges::find_if(wanted_, same);
    if (found == wanted_.end()) found = wanted_.insert(wanted_.end(), {part.rank, part.call, {}, {}});
    found->violations.push_back(&violation);
  }
}

// `see`: called with each call and what it is; of one that sends and receives, twice.
template <class See>
void Counterparts::walk(std::uint32_t rank, IntentionLog& log, See see) {
  using Channel = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, int>;
  std::uint64_t calls = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> collectives;  // by communicator
  std::map<Channel, std::uint64_t> sent, heard;
  std::unordered_map<std::uint64_t, Part> open;  // receives, by post
  const auto world_rank = [](const LoggedShape& shape, int number) -> std::optional<std::uint32_t> {
    const auto& peers = shape.group->peers();
    if (number < 0 || static_cast<std::size_t>(number) >= peers.size()) return std::nullopt;
    return static_cast<std::uint32_t>(peers[static_cast<std::size_t>(number)]);
  };
  const auto sends = [&](const Part& part) {
    const LoggedShape& shape = *part.shape;
    const auto to = world_rank(shape, shape.dest);
    if (!to || shape.gives.empty()) return;
    const std::uint64_t number = sent[{shape.group->uid, rank, *to, shape.send_tag}]++;
    see(part, Name{shape.group->uid, number, true, rank, *to, shape.send_tag});
  };
  const auto hears = [&](const Part& part, const Told& told) {
    const LoggedShape& shape = *part.shape;
    const auto from = world_rank(shape, told.source);
    if (!from || told.error != 0 || told.cancelled) return;
    const std::uint64_t number = heard[{shape.group->uid, *from, rank, told.tag}]++;
    see(part, Name{shape.group->uid, number, true, *from, rank, told.tag});
  };
  for (;;) {
    auto event = log.next();
    if (!event || !*event) return;
    const Event& one = **event;
    const bool begins = one.kind == IntentionRecord::Begin;
    if (begins || one.kind == IntentionRecord::Whole) {
      const Part part{rank, ++calls, one.shape};
      const std::uint64_t comm = one.shape->group->uid;
      if (one.shape->form == IntentionForm::Collective) see(part, Name{comm, collectives[comm]++});
      if (one.shape->sends() && one.told.error == 0) sends(part);
      if (one.shape->receives() && begins) open[one.post] = part;
      else if (one.shape->receives() && !one.shape->takes.empty()) hears(part, one.told);
    } else if (one.kind == IntentionRecord::Access) {
      ++calls;
    } else if (one.kind == IntentionRecord::End) {
      const auto found = open.find(one.post);
      if (found == open.end()) continue;
      hears(found->second, one.told);
      open.erase(found);
    }
  }
}

void Counterparts::locate(std::uint32_t rank, IntentionLog& log) {
  if (std::ranges::none_of(wanted_, [&](const Wanted& one) { return one.rank == rank; })) return;
  walk(rank, log, [&](const Part& part, const Name& name) {
    for (Wanted& one : wanted_) {
      if (one.rank != rank || one.call != part.call) continue;
      if (name.is_message && name.to != rank) continue;  // what it sends is not what is wrong
      one.name = name;
      parts_[name];
    }
  });
}

void Counterparts::collect(std::uint32_t rank, IntentionLog& log) {
  walk(rank, log, [&](const Part& part, const Name& name) {
    if (const auto found = parts_.find(name); found != parts_.end()) found->second.push_back(part);
  });
}

void Counterparts::finish() {
  for (const Wanted& one : wanted_) {
    if (!one.name) continue;
    std::vector<Part> parts = parts_[*one.name];
    if (one.name->is_message) {
      // The sender is the first. To oneself it is one call, or two in the order in which they were made.
      if (parts.size() != 2) continue;
      if (parts[0].rank != one.name->from || !parts[0].shape->sends()) std::swap(parts[0], parts[1]);
    }
    for (Violation* const violation : one.violations) violation->members = parts;
  }
}

}  // namespace reprise::flow
