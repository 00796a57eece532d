#include "flow/own_operations.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/bytes.hpp"
#include "flow/leaves.hpp"

namespace reprise::flow {
namespace {

using engine::TypeTree;

TypeTree named(const char* name, std::uint64_t size) {
  TypeTree tree;
  tree.made = TypeTree::Made::Named;
  tree.name = name;
  tree.size = size;
  tree.extent = static_cast<std::int64_t>(size);
  return tree;
}

// Two doubles and an int, with padding behind.
TypeTree record() {
  TypeTree tree;
  tree.made = TypeTree::Made::Struct;
  tree.integers = {2, 2, 1};
  tree.addresses = {0, 16};
  tree.types = {named("MPI_DOUBLE", 8), named("MPI_INT", 4)};
  return tree;
}

LoggedType type_of(TypeTree tree) {
  LoggedType type;
  type.flat = engine::flatten(tree, 100);
  type.tree = std::move(tree);
  return type;
}

template <class T>
std::vector<std::uint8_t> bytes_of(std::initializer_list<T> values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::vector<std::uint8_t> expected(std::uint64_t ranks, const std::vector<std::vector<std::uint8_t>>& ways) {
  std::vector<std::uint8_t> out;
  std::uint8_t room[kMaxVarint];
  out.insert(out.end(), room, put_varint(room, ranks));
  out.insert(out.end(), room, put_varint(room, ways.size()));
  for (const auto& way : ways) out.insert(out.end(), way.begin(), way.end());
  return out;
}

LoggedShape reduction(const LoggedType& type, std::int64_t ranks, std::uint64_t elements) {
  LoggedShape shape;
  shape.operation = 1;
  shape.combines = ranks;
  shape.all = shape.count = elements;
  shape.element = &type;
  return shape;
}

TEST(Leaves, AreInTheOrderOfTheTypeMap) {
  const auto leaves = leaves_of(record());
  ASSERT_TRUE(leaves);
  ASSERT_EQ(leaves->size(), 3u);
  EXPECT_TRUE((*leaves)[0].is_real && (*leaves)[1].is_real && !(*leaves)[2].is_real);
  EXPECT_EQ((*leaves)[2].place, 16u);
  const auto pair = leaves_of(named("MPI_DOUBLE_INT", 12));
  ASSERT_TRUE(pair);
  ASSERT_EQ(pair->size(), 2u);
  EXPECT_EQ((*pair)[1].place, 8u);
}

TEST(Leaves, TypesThatDoNotFitDisagree) {
  const LoggedType real = type_of(named("MPI_DOUBLE", 8));
  const LoggedType integer = type_of(named("MPI_INT", 4));
  const LoggedType whole = type_of(record());
  LoggedBlock doubles{0, 4, &real}, integers{0, 8, &integer}, records{0, 1, &whole};
  EXPECT_FALSE(disagree(doubles, doubles, 32));
  EXPECT_TRUE(disagree(doubles, integers, 32));
  EXPECT_FALSE(disagree(doubles, records, 16));
  EXPECT_TRUE(disagree(doubles, records, 20));
  const LoggedType byte = type_of(named("MPI_BYTE", 1));
  EXPECT_FALSE(disagree(LoggedBlock{0, 32, &byte}, integers, 32));
}

TEST(OwnOperations, IntegersMustBeWhatTheOperationMakes) {
  const LoggedType type = type_of(named("MPI_INT", 4));
  const LoggedShape shape = reduction(type, 2, 3);
  const auto one = bytes_of<int>({1, 2, 3});
  const auto two = bytes_of<int>({4, 5, 6});
  const auto made = expected(2, {bytes_of<int>({40, 50, 60})});
  const auto right = check_own_reduction(shape, {&one, &two}, made, bytes_of<int>({40, 50, 60}));
  EXPECT_TRUE(right.can);
  EXPECT_EQ(right.words, "");
  const auto wrong = check_own_reduction(shape, {&one, &two}, made, bytes_of<int>({40, 51, 60}));
  EXPECT_TRUE(wrong.can);
  EXPECT_NE(wrong.words.find("element 1"), std::string::npos);
}

TEST(OwnOperations, RealsMayBeRounded) {
  const LoggedType type = type_of(named("MPI_DOUBLE", 8));
  const LoggedShape shape = reduction(type, 2, 1);
  const auto one = bytes_of<double>({1.0});
  const auto two = bytes_of<double>({-1.0});
  const auto made = expected(2, {bytes_of<double>({0.0}), bytes_of<double>({1e-16})});
  EXPECT_EQ(check_own_reduction(shape, {&one, &two}, made, bytes_of<double>({-2e-16})).words, "");
  EXPECT_NE(check_own_reduction(shape, {&one, &two}, made, bytes_of<double>({1e-9})).words, "");
}

TEST(OwnOperations, NothingIsSaidOfOneThatIsNotAssociative) {
  const LoggedType type = type_of(named("MPI_INT", 4));
  const LoggedShape shape = reduction(type, 3, 1);
  const auto one = bytes_of<int>({1});
  const auto made = expected(3, {bytes_of<int>({1}), bytes_of<int>({2})});
  EXPECT_FALSE(check_own_reduction(shape, {&one, &one, &one}, made, bytes_of<int>({7})).can);
}

TEST(OwnOperations, ScansHaveWhatIsExpectedOfEachNumberOfRanks) {
  const LoggedType type = type_of(named("MPI_INT", 4));
  const auto one = bytes_of<int>({1});
  auto made = expected(1, {bytes_of<int>({1})});
  const auto more = expected(2, {bytes_of<int>({5})});
  made.insert(made.end(), more.begin(), more.end());
  EXPECT_EQ(check_own_reduction(reduction(type, 2, 1), {&one, &one}, made, bytes_of<int>({5})).words, "");
  EXPECT_NE(check_own_reduction(reduction(type, 1, 1), {&one}, made, bytes_of<int>({5})).words, "");
  EXPECT_FALSE(check_own_reduction(reduction(type, 3, 1), {&one, &one, &one}, made, bytes_of<int>({5})).can);
}

TEST(OwnOperations, DamagedExpectationsSayNothing) {
  const LoggedType type = type_of(named("MPI_INT", 4));
  const auto one = bytes_of<int>({1});
  auto made = expected(2, {bytes_of<int>({5})});
  made.pop_back();
  EXPECT_FALSE(check_own_reduction(reduction(type, 2, 1), {&one, &one}, made, bytes_of<int>({5})).can);
}

}  // namespace
}  // namespace reprise::flow
