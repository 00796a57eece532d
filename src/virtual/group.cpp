#include "virtual/group.hpp"

#include <algorithm>

namespace reprise::virtual_world {

std::optional<int> Group::rank_of(int world_rank) const {
  const auto found = std::find(members_.begin(), members_.end(), world_rank);
  if (found == members_.end()) return std::nullopt;
  return static_cast<int>(found - members_.begin());
}

// The members of the first, and those of the second that are not in the first, in the second's order (7.3.2).
Group Group::united_with(const Group& other) const {
  Group united = *this;
  for (const int member : other.members_)
    if (!rank_of(member)) united.members_.push_back(member);
  return united;
}

Group Group::intersected_with(const Group& other) const {
  Group common;
  for (const int member : members_)
    if (other.rank_of(member)) common.members_.push_back(member);
  return common;
}

Group Group::without(const Group& other) const {
  Group rest;
  for (const int member : members_)
    if (!other.rank_of(member)) rest.members_.push_back(member);
  return rest;
}

bool Group::are_ranks(std::span<const int> ranks) const {
  std::vector<bool> seen(members_.size());
  for (const int rank : ranks) {
    if (rank < 0 || rank >= size() || seen[static_cast<std::size_t>(rank)]) return false;
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return true;
}

std::optional<Group> Group::including(std::span<const int> ranks) const {
  if (!are_ranks(ranks)) return std::nullopt;
  Group chosen;
  for (const int rank : ranks) chosen.members_.push_back(members_[static_cast<std::size_t>(rank)]);
  return chosen;
}

std::optional<Group> Group::excluding(std::span<const int> ranks) const {
  if (!are_ranks(ranks)) return std::nullopt;
  Group rest;
  for (int rank = 0; rank < size(); ++rank)
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end())
      rest.members_.push_back(members_[static_cast<std::size_t>(rank)]);
  return rest;
}

std::optional<std::vector<int>> Group::ranks_of(std::span<const Range> ranges) {
  std::vector<int> ranks;
  for (const auto& [first, last, stride] : ranges) {
    if (stride == 0 || (stride > 0 ? first > last : first < last)) return std::nullopt;
    for (int rank = first; stride > 0 ? rank <= last : rank >= last; rank += stride) ranks.push_back(rank);
  }
  return ranks;
}

Likeness Group::compared_with(const Group& other) const {
  if (members_ == other.members_) return Likeness::Identical;
  return size() == other.size() && intersected_with(other).size() == size() ? Likeness::Similar : Likeness::Unequal;
}

}  // namespace reprise::virtual_world
