// Groups of a rank that runs alone (MPI 4.0, 7.3).
#include <span>

#include "frontends/mpi/border/world.hpp"

namespace reprise::mpi {

using virtual_world::Group;

const Group& members(MPI_Group group) {
  static const auto* const empty = new Group();
  const Group* const found = world().find_group(handle_key(group));
  return found ? *found : *empty;
}

// Carried by a real group of this process, made anew each time, so that no two have the same handle. An empty one is the
// library's, too, which counts how often it may be freed.
int give_group(Group group, MPI_Group* out) {
  const int size = group.size() == 0 ? 0 : 1;
  MPI_Group own = handles().group_null;
  const int first = 0;
  singleton_function<int (*)(MPI_Comm, MPI_Group*)>(Function::Comm_group)(handles().comm_self, &own);
  const int rc =
      singleton_function<int (*)(MPI_Group, int, const int*, MPI_Group*)>(Function::Group_incl)(own, size, &first, out);
  singleton_function<int (*)(MPI_Group*)>(Function::Group_free)(&own);
  if (rc == MPI_SUCCESS && size > 0) world().add_group(handle_key(*out), std::move(group));
  return rc;
}

namespace {

int refuse(int error) {
  singleton_function<int (*)(MPI_Comm, int)>(Function::Comm_call_errhandler)(handles().comm_world, error);
  return error;
}

int give_or_refuse(std::optional<Group> group, MPI_Group* out) {
  return group ? give_group(std::move(*group), out) : refuse(MPI_ERR_RANK);
}

std::span<const int> list(int n, const int* ranks) { return {ranks, n > 0 ? static_cast<std::size_t>(n) : 0}; }

std::optional<std::vector<int>> ranks_of(int n, int ranges[][3]) {
  std::vector<Group::Range> all;
  for (int i = 0; i < n; ++i) all.push_back({ranges[i][0], ranges[i][1], ranges[i][2]});
  return Group::ranks_of(all);
}

int Group_size(MPI_Group group, int* size) {
  *size = members(group).size();
  return MPI_SUCCESS;
}
int Group_rank(MPI_Group group, int* rank) {
  *rank = members(group).rank_of(provider().rank()).value_or(MPI_UNDEFINED);
  return MPI_SUCCESS;
}
int Group_compare(MPI_Group one, MPI_Group other, int* result) {
  *result = mpi_likeness(members(one).compared_with(members(other)), false);
  return MPI_SUCCESS;
}
int Group_translate_ranks(MPI_Group from, int n, const int* ranks, MPI_Group to, int* out) {
  const Group& source = members(from);
  for (int i = 0; i < n; ++i) {
    if (ranks[i] == MPI_PROC_NULL) {
      out[i] = MPI_PROC_NULL;
      continue;
    }
    if (ranks[i] < 0 || ranks[i] >= source.size()) return refuse(MPI_ERR_RANK);
    out[i] = members(to).rank_of(source.members()[static_cast<std::size_t>(ranks[i])]).value_or(MPI_UNDEFINED);
  }
  return MPI_SUCCESS;
}
int Group_union(MPI_Group one, MPI_Group other, MPI_Group* out) {
  return give_group(members(one).united_with(members(other)), out);
}
int Group_intersection(MPI_Group one, MPI_Group other, MPI_Group* out) {
  return give_group(members(one).intersected_with(members(other)), out);
}
int Group_difference(MPI_Group one, MPI_Group other, MPI_Group* out) {
  return give_group(members(one).without(members(other)), out);
}
int Group_incl(MPI_Group group, int n, const int* ranks, MPI_Group* out) {
  return give_or_refuse(members(group).including(list(n, ranks)), out);
}
int Group_excl(MPI_Group group, int n, const int* ranks, MPI_Group* out) {
  return give_or_refuse(members(group).excluding(list(n, ranks)), out);
}
int Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group* out) {
  const auto ranks = ranks_of(n, ranges);
  return ranks ? give_or_refuse(members(group).including(*ranks), out) : refuse(MPI_ERR_ARG);
}
int Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group* out) {
  const auto ranks = ranks_of(n, ranges);
  return ranks ? give_or_refuse(members(group).excluding(*ranks), out) : refuse(MPI_ERR_ARG);
}
int Group_free(MPI_Group* group) {
  const MPI_Group freed = *group;
  const int rc = singleton_function<int (*)(MPI_Group*)>(Function::Group_free)(group);
  if (rc == MPI_SUCCESS) world().remove_group(handle_key(freed));
  return rc;
}

}  // namespace

void put_groups_at_border() {
  put_in_world(Function::Group_size, &Group_size);
  put_in_world(Function::Group_rank, &Group_rank);
  put_in_world(Function::Group_compare, &Group_compare);
  put_in_world(Function::Group_translate_ranks, &Group_translate_ranks);
  put_in_world(Function::Group_union, &Group_union);
  put_in_world(Function::Group_intersection, &Group_intersection);
  put_in_world(Function::Group_difference, &Group_difference);
  put_in_world(Function::Group_incl, &Group_incl);
  put_in_world(Function::Group_excl, &Group_excl);
  put_in_world(Function::Group_range_incl, &Group_range_incl);
  put_in_world(Function::Group_range_excl, &Group_range_excl);
  put_in_world(Function::Group_free, &Group_free);
}

}  // namespace reprise::mpi
