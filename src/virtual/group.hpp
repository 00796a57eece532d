// A group of processes, as the ranks that they have in MPI_COMM_WORLD, in order (MPI 4.0, 7.3).
#pragma once

#include <optional>
#include <span>
#include <vector>

namespace reprise::virtual_world {

enum class Likeness { Identical, Similar, Unequal };  // similar: the same members in another order

class Group {
 public:
  // (first, last, stride), as in MPI_Group_range_incl.
  struct Range {
    int first = 0;
    int last = 0;
    int stride = 1;
  };

  Group() = default;
  explicit Group(std::vector<int> members) : members_(std::move(members)) {}

  const std::vector<int>& members() const { return members_; }
  int size() const { return static_cast<int>(members_.size()); }
  // The rank that this process of the world has in the group.
  std::optional<int> rank_of(int world_rank) const;

  Group united_with(const Group& other) const;
  Group intersected_with(const Group& other) const;
  Group without(const Group& other) const;
  // nullopt: a rank that is not there, or twice.
  std::optional<Group> including(std::span<const int> ranks) const;
  std::optional<Group> excluding(std::span<const int> ranks) const;
  // The ranks that some ranges name, in order; nullopt if a range makes no sense.
  static std::optional<std::vector<int>> ranks_of(std::span<const Range> ranges);

  Likeness compared_with(const Group& other) const;
  bool operator==(const Group&) const = default;

 private:
  bool are_ranks(std::span<const int> ranks) const;

  std::vector<int> members_;
};

}  // namespace reprise::virtual_world
