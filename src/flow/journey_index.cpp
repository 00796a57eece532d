#include "flow/journey_index.hpp"

#include <algorithm>
#include <queue>

namespace reprise::flow {

JourneyIndex::JourneyIndex(const Journey& journey) {
  const auto hops = journey.hops();
  stages_.resize(hops.size(), kNoStage);
  for (std::size_t i = 0; i < hops.size(); ++i) {
    const Stage stage = stage_of_hop(hops[i]);
    const auto number = numbers_.try_emplace({stage.rank, stage.kind, *stage.site}, static_cast<std::uint32_t>(carried_.size())).first->second;
    if (number == carried_.size()) {
      carried_.emplace_back();
      hops_of_.emplace_back();
    }
    stages_[i] = number;
    hops_of_[number].push_back(static_cast<std::uint32_t>(i));
    if (hops[i].from.kind != Place::Kind::Private) readers_[{hops[i].from.kind, hops[i].from.number}].insert(stage.rank);
    if (i < journey.first_hop()) continue;
    take_from(journey, hops[i], i);
    for (const Labelled& one : hops[i].labels) {
      if (!journey.is_of_giver(one.label.operation)) continue;
      carried_[number].pieces.push_back({one.label.address, one.bytes, one.at, static_cast<std::uint32_t>(i), one.label.hop});
      carried_[number].longest = std::max(carried_[number].longest, one.bytes);
    }
  }
  std::size_t behind = hops.size();
  for (const Hop& hop : journey.later_hops()) {
    take_from(journey, hop, behind++);
    if (hop.from.kind == Place::Kind::Stream) readers_[{hop.from.kind, hop.from.number}].insert(hop.rank);  // it has only one
  }
  for (auto& [_, taken] : taken_) find_again(taken);
  for (Pieces& one : carried_)
    std::stable_sort(one.pieces.begin(), one.pieces.end(), [](const Carried& a, const Carried& b) { return a.source < b.source; });
  for (const Stretch& one : journey.stretches()) by_source_.push_back(&one);
  std::stable_sort(by_source_.begin(), by_source_.end(), [](const Stretch* a, const Stretch* b) { return a->from < b->from; });
}

void JourneyIndex::take_from(const Journey& journey, const Hop& hop, std::size_t number) {
  for (const Labelled& one : hop.labels)
    if (one.label.hop != kNoHop && journey.is_of_giver(one.label.operation)) taken_[one.label.hop].push_back({one.label.address, one.bytes, hop.rank, number});
}

void JourneyIndex::find_again(std::vector<Taken>& taken) {
  if (taken.size() < 2) return;
  std::vector<Taken*> by_source;
  for (Taken& one : taken) by_source.push_back(&one);
  std::stable_sort(by_source.begin(), by_source.end(), [](const Taken* a, const Taken* b) { return a->source < b->source; });
  // Those that have what is looked at, or did: the earliest movement is on top.
  const auto is_later = [](const Taken* a, const Taken* b) { return a->hop > b->hop; };
  std::priority_queue<const Taken*, std::vector<const Taken*>, decltype(is_later)> having(is_later);
  for (auto first = by_source.begin(); first != by_source.end();) {
    const std::uint64_t source = (*first)->source;
    const auto last = std::find_if(first, by_source.end(), [&](const Taken* one) { return one->source != source; });
    for (auto one = first; one != last; ++one) having.push(*one);
    while (source - having.top()->source >= having.top()->bytes) having.pop();
    for (; first != last; ++first) (*first)->again = having.top()->hop < (*first)->hop;
  }
}

std::optional<bool> JourneyIndex::is_taken_by(std::uint32_t rank, std::uint32_t hop, bool is_shared, std::uint64_t source) const {
  const auto found = taken_.find(hop);
  if (found == taken_.end()) return std::nullopt;
  std::optional<bool> is_taken;
  for (const Taken& one : found->second) {
    if (source < one.source || source - one.source >= one.bytes) continue;
    if (one.rank == rank) return true;
    is_taken = false;
    if (is_shared) break;
  }
  return is_taken;
}

std::uint32_t JourneyIndex::number_of(const Stage& stage) const {
  const auto found = numbers_.find({stage.rank, stage.kind, *stage.site});
  return found == numbers_.end() ? kNoStage : found->second;
}

std::vector<std::uint32_t> JourneyIndex::stages_like(const Stage& stage) const {
  std::vector<std::uint32_t> all;
  for (auto one = numbers_.lower_bound({stage.rank, stage.kind, {}}); one != numbers_.end(); ++one) {
    const auto& [rank, kind, site] = one->first;
    if (rank != stage.rank || kind != stage.kind) break;
    all.push_back(one->second);
  }
  return all;
}

const Stretch* JourneyIndex::stretch_with(std::uint64_t source) const {
  const auto behind = std::upper_bound(by_source_.begin(), by_source_.end(), source, [](std::uint64_t at, const Stretch* one) { return at < one->from; });
  if (behind == by_source_.begin()) return nullptr;
  const Stretch* const found = *std::prev(behind);
  return source - found->from < found->bytes ? found : nullptr;
}

}  // namespace reprise::flow
