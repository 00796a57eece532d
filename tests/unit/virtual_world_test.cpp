// Groups, topologies and communicators without MPI, compared with what MPI's definitions say, by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "virtual/world.hpp"

namespace reprise::virtual_world {
namespace {

std::vector<int> some_ranks(std::mt19937& random, int world) {
  std::vector<int> all(static_cast<std::size_t>(world));
  for (int i = 0; i < world; ++i) all[static_cast<std::size_t>(i)] = i;
  std::shuffle(all.begin(), all.end(), random);
  all.resize(random() % (all.size() + 1));
  return all;
}

std::set<int> as_set(const Group& group) { return {group.members().begin(), group.members().end()}; }

TEST(VirtualGroup, SetOperationsAreThoseOfSetsAndKeepTheFirstOrder) {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    const Group one(some_ranks(random, 9));
    const Group other(some_ranks(random, 9));
    const auto a = as_set(one);
    const auto b = as_set(other);
    std::set<int> expected;
    std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::inserter(expected, expected.end()));
    const Group united = one.united_with(other);
    EXPECT_EQ(as_set(united), expected);
    EXPECT_EQ(united.size(), static_cast<int>(expected.size()));
    EXPECT_TRUE(std::equal(one.members().begin(), one.members().end(), united.members().begin()));
    expected.clear();
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::inserter(expected, expected.end()));
    EXPECT_EQ(as_set(one.intersected_with(other)), expected);
    expected.clear();
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::inserter(expected, expected.end()));
    EXPECT_EQ(as_set(one.without(other)), expected);
    // What is left in a difference or an intersection stands in the first group's order.
    const Group rest = one.without(other);
    EXPECT_TRUE(std::is_sorted(rest.members().begin(), rest.members().end(),
                               [&](int x, int y) { return *one.rank_of(x) < *one.rank_of(y); }));
    const Likeness likeness = one.compared_with(other);
    EXPECT_EQ(likeness, one.members() == other.members() ? Likeness::Identical
                        : a == b                         ? Likeness::Similar
                                                         : Likeness::Unequal);
  }
}

TEST(VirtualGroup, InclusionAndExclusionAreComplements) {
  std::mt19937 random(8);
  for (int round = 0; round < 300; ++round) {
    const Group all(some_ranks(random, 12));
    const std::vector<int> chosen = some_ranks(random, all.size());
    const auto in = all.including(chosen);
    const auto out = all.excluding(chosen);
    ASSERT_TRUE(in && out);
    for (std::size_t i = 0; i < chosen.size(); ++i)
      EXPECT_EQ(in->members()[i], all.members()[static_cast<std::size_t>(chosen[i])]);
    EXPECT_EQ(out->without(*in), *out);
    EXPECT_EQ(in->size() + out->size(), all.size());
  }
}

TEST(VirtualGroup, RanksThatAreNotThereOrTwiceAreRefused) {
  const Group group({4, 2, 7});
  const int twice[] = {1, 1};
  const int beyond[] = {3};
  const int negative[] = {-1};
  EXPECT_FALSE(group.including(twice));
  EXPECT_FALSE(group.including(beyond));
  EXPECT_FALSE(group.excluding(negative));
}

TEST(VirtualGroup, RangesMayRunBackwards) {
  const Group::Range ranges[] = {{0, 4, 2}, {9, 5, -3}};
  EXPECT_EQ(Group::ranks_of(ranges), (std::vector<int>{0, 2, 4, 9, 6}));
  const Group::Range wrong[] = {{4, 0, 1}};
  EXPECT_FALSE(Group::ranks_of(wrong));
  const Group::Range standing[] = {{0, 4, 0}};
  EXPECT_FALSE(Group::ranks_of(standing));
}

TEST(VirtualTopology, RanksAndCoordinatesAreInverse) {
  const Cartesian grid{{3, 2, 4}, {true, false, true}};
  ASSERT_EQ(grid.size(), 24);
  std::set<std::vector<int>> seen;
  for (int rank = 0; rank < grid.size(); ++rank) {
    const auto at = grid.coordinates(rank);
    EXPECT_TRUE(seen.insert(at).second);
    EXPECT_EQ(grid.rank(at), rank);
  }
  EXPECT_EQ(grid.rank(std::vector<int>{-1, 0, 0}), grid.rank(std::vector<int>{2, 0, 0}));
  EXPECT_EQ(grid.rank(std::vector<int>{7, 1, -5}), grid.rank(std::vector<int>{1, 1, 3}));
  EXPECT_FALSE(grid.rank(std::vector<int>{0, 2, 0}));
}

TEST(VirtualTopology, AShiftAndItsInverseMeet) {
  const Cartesian grid{{4, 3}, {true, false}};
  for (int rank = 0; rank < grid.size(); ++rank)
    for (int dimension = 0; dimension < 2; ++dimension)
      for (int by : {-2, -1, 1, 2}) {
        const auto [source, destination] = grid.shift(rank, dimension, by);
        if (destination) {
          EXPECT_EQ(grid.shift(*destination, dimension, by).first, rank);
        }
        if (source) {
          EXPECT_EQ(grid.shift(*source, dimension, by).second, rank);
        }
      }
  EXPECT_FALSE(grid.shift(0, 1, -1).second);
  EXPECT_TRUE(grid.shift(0, 0, -1).second);
}

TEST(VirtualTopology, DegreesOfEachKind) {
  EXPECT_EQ(degrees(Cartesian{{2, 2, 2}, {false, false, false}}, 0), std::pair(6, 6));
  const Graph graph{{2, 3, 4, 6}, {1, 3, 0, 3, 0, 2}};
  EXPECT_EQ(degrees(graph, 0), std::pair(2, 2));
  EXPECT_EQ(degrees(graph, 2), std::pair(1, 1));
  const auto last = graph.neighbours(3);
  EXPECT_EQ(std::vector<int>(last.begin(), last.end()), (std::vector<int>{0, 2}));
  EXPECT_EQ(degrees(DistributedGraph{{1, 2, 3}, {}, {0}, {}, false}, 5), std::pair(3, 1));
  EXPECT_EQ(degrees(Topology(), 0), std::pair(0, 0));
}

TEST(VirtualWorld, CommunicatorsAreComparedByTheirGroups) {
  const Communicator world{Group({0, 1, 2}), {}, 0, {}};
  const Communicator same{Group({0, 1, 2}), {}, 0, {}};
  const Communicator turned{Group({2, 1, 0}), {}, 2, {}};
  const Communicator inter{Group({0, 1}), Group({2}), 0, {}};
  const Communicator turned_inter{Group({1, 0}), Group({2}), 1, {}};
  EXPECT_EQ(compare(world, same), Likeness::Identical);
  EXPECT_EQ(compare(world, turned), Likeness::Similar);
  EXPECT_EQ(compare(world, inter), Likeness::Unequal);
  EXPECT_EQ(compare(inter, turned_inter), Likeness::Similar);
  EXPECT_EQ(inter.peers().size(), 1);
}

TEST(VirtualWorld, HandlesComeAndGo) {
  World world;
  world.add(17, {Group({0, 1}), {}, 1, {}});
  ASSERT_NE(world.find(17), nullptr);
  EXPECT_EQ(world.find(17)->rank, 1);
  world.remove(17);
  EXPECT_EQ(world.find(17), nullptr);
  world.add_group(3, Group({5}));
  EXPECT_EQ(world.find_group(3)->size(), 1);
  world.remove_group(3);
  EXPECT_EQ(world.find_group(3), nullptr);
}

}  // namespace
}  // namespace reprise::virtual_world
