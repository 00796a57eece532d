#include "analyze/world_ranks.hpp"

#include <algorithm>

namespace reprise::analyze {

namespace {

// The log may be a stranger's: any stride may stand in it.
std::optional<std::uint32_t> member(const engine::MemberRange& range, std::uint64_t index) {
  const std::uint64_t rank = range.first + index * static_cast<std::uint64_t>(range.stride);
  if (rank >= trace::kMaxRanks) return std::nullopt;
  return static_cast<std::uint32_t>(rank);
}

}  // namespace

std::optional<std::uint32_t> WorldRanks::peer(const std::vector<engine::CommunicatorRecord>& communicators,
                                              std::int64_t number, std::int64_t rank) {
  if (number < 0 || static_cast<std::uint64_t>(number) >= communicators.size() || rank < 0) return std::nullopt;
  const auto& communicator = communicators[static_cast<std::size_t>(number)];
  const std::uint64_t first = communicator.remote > 0 ? communicator.size - communicator.remote : 0;
  const std::uint64_t index = first + static_cast<std::uint64_t>(rank);
  if (index >= communicator.size) return std::nullopt;
  if (communicator.members.size() == 1) {  // nearly always
    const engine::MemberRange& range = communicator.members.front();
    return index < range.count ? member(range, index) : std::nullopt;
  }
  while (starts_.size() < communicators.size()) {
    auto& starts = starts_.emplace_back();
    std::uint64_t before = 0;
    for (const auto& range : communicators[starts_.size() - 1].members) {
      starts.push_back(before);
      before += range.count;
    }
  }
  const auto& starts = starts_[static_cast<std::size_t>(number)];
  const auto after = std::upper_bound(starts.begin(), starts.end(), index);
  if (after == starts.begin()) return std::nullopt;
  const auto at = static_cast<std::size_t>(after - starts.begin()) - 1;
  const engine::MemberRange& range = communicator.members[at];
  if (index - starts[at] >= range.count) return std::nullopt;
  return member(range, index - starts[at]);
}

std::vector<std::uint32_t> WorldRanks::members(const engine::CommunicatorRecord& communicator) {
  std::vector<std::uint32_t> ranks;
  for (const engine::MemberRange& range : communicator.members) {
    for (std::uint64_t i = 0; i < range.count; ++i) {
      const auto rank = member(range, i);
      if (!rank || ranks.size() == communicator.size) return {};
      ranks.push_back(*rank);
    }
  }
  if (ranks.size() != communicator.size) ranks.clear();
  return ranks;
}

}  // namespace reprise::analyze
