// Datatypes taken apart: which bytes they describe, their bytes in a log, and their C source.
#include "engine/type_tree.hpp"

#include <gtest/gtest.h>

#include <random>

#include "flow/type_code.hpp"

namespace reprise::engine {
namespace {

using Made = TypeTree::Made;
using Runs = std::vector<FlatType::Run>;
using Numbers = std::vector<std::int64_t>;

constexpr std::size_t kMany = 1u << 20;
constexpr std::int64_t kDefault = TypeTree::kDefaultArgument;

TypeTree named(const char* name, std::uint64_t size, std::int64_t extent = 0) {
  TypeTree tree;
  tree.made = Made::Named;
  tree.name = name;
  tree.size = size;
  tree.extent = extent == 0 ? static_cast<std::int64_t>(size) : extent;
  return tree;
}

const TypeTree kChar = named("MPI_CHAR", 1);
const TypeTree kInt = named("MPI_INT", 4);
const TypeTree kDouble = named("MPI_DOUBLE", 8);

TypeTree made(Made how, Numbers integers, Numbers addresses, std::vector<TypeTree> types) {
  TypeTree tree;
  tree.made = how;
  tree.integers = std::move(integers);
  tree.addresses = std::move(addresses);
  tree.types = std::move(types);
  return tree;
}
TypeTree contiguous(std::int64_t count, const TypeTree& type) { return made(Made::Contiguous, {count}, {}, {type}); }
TypeTree vector(std::int64_t count, std::int64_t length, std::int64_t stride, const TypeTree& type) {
  return made(Made::Vector, {count, length, stride}, {}, {type});
}
TypeTree hvector(std::int64_t count, std::int64_t length, std::int64_t stride, const TypeTree& type) {
  return made(Made::Hvector, {count, length}, {stride}, {type});
}
TypeTree resized(const TypeTree& type, std::int64_t lower, std::int64_t extent) {
  return made(Made::Resized, {}, {lower, extent}, {type});
}
struct Member {
  std::int64_t length;
  std::int64_t at;
  TypeTree type;
};
TypeTree structure(const std::vector<Member>& members) {
  TypeTree tree = made(Made::Struct, {static_cast<std::int64_t>(members.size())}, {}, {});
  for (const Member& member : members) {
    tree.integers.push_back(member.length);
    tree.addresses.push_back(member.at);
    tree.types.push_back(member.type);
  }
  return tree;
}

FlatType flat(const TypeTree& tree) { return flatten(tree, kMany); }
// Lower bound and extent, and the same of what is really there.
Numbers bounds(const TypeTree& tree) {
  const FlatType type = flat(tree);
  EXPECT_TRUE(type.known);
  return {type.lower, type.extent, type.true_lower, type.true_extent};
}
Runs runs(const TypeTree& tree) { return flat(tree).runs; }

TEST(TypeTree, NamedTypesAreOnePiece) {
  EXPECT_EQ(runs(kDouble), (Runs{{0, 8}}));
  EXPECT_EQ(bounds(kDouble), (Numbers{0, 8, 0, 8}));
  EXPECT_TRUE(flat(kDouble).solid);
  EXPECT_EQ(flat(kDouble).size, 8u);
}

TEST(TypeTree, PairsHaveTheHolesOfTheirStructs) {
  const TypeTree short_int = named("MPI_SHORT_INT", 6, 8);
  EXPECT_EQ(runs(short_int), (Runs{{0, 2}, {4, 4}}));
  EXPECT_EQ(flat(short_int).size, 6u);
  EXPECT_FALSE(flat(short_int).solid);
  const TypeTree double_int = named("MPI_DOUBLE_INT", 12, 16);
  EXPECT_EQ(runs(contiguous(2, double_int)), (Runs{{0, 12}, {16, 12}}));
  EXPECT_EQ(bounds(double_int), (Numbers{0, 16, 0, 12}));
  EXPECT_EQ(bounds(named("MPI_LONG_DOUBLE_INT", 20, 32)), (Numbers{0, 32, 0, 20}));
  EXPECT_TRUE(flat(named("MPI_2INT", 8)).solid);
}

TEST(TypeTree, ContiguousAndDup) {
  EXPECT_EQ(runs(contiguous(5, kInt)), (Runs{{0, 20}}));
  EXPECT_TRUE(flat(contiguous(5, kInt)).solid);
  EXPECT_EQ(runs(made(Made::Dup, {}, {}, {contiguous(5, kInt)})), (Runs{{0, 20}}));
}

TEST(TypeTree, Vectors) {
  EXPECT_EQ(runs(vector(3, 2, 4, kInt)), (Runs{{0, 8}, {16, 8}, {32, 8}}));
  EXPECT_EQ(bounds(vector(3, 2, 4, kInt)), (Numbers{0, 40, 0, 40}));
  EXPECT_EQ(runs(vector(3, 2, 2, kInt)), (Runs{{0, 24}}));
  EXPECT_EQ(runs(vector(3, 2, -4, kInt)), (Runs{{0, 8}, {-16, 8}, {-32, 8}}));
  EXPECT_EQ(bounds(vector(3, 2, -4, kInt)), (Numbers{-32, 40, -32, 40}));
  // Backwards by single bytes, which touch, but not in this order.
  EXPECT_EQ(runs(vector(3, 1, -1, kChar)), (Runs{{0, 1}, {-1, 1}, {-2, 1}}));
  EXPECT_EQ(runs(vector(2, 1, 0, kInt)), (Runs{{0, 4}, {0, 4}}));
  EXPECT_EQ(flat(vector(2, 1, 0, kInt)).size, 8u);
  EXPECT_EQ(runs(hvector(2, 1, 5, kInt)), (Runs{{0, 4}, {5, 4}}));
  EXPECT_EQ(bounds(hvector(2, 1, 5, kInt)), (Numbers{0, 12, 0, 9}));  // padded to ints
}

TEST(TypeTree, Indexed) {
  EXPECT_EQ(runs(made(Made::Indexed, {3, 2, 1, 1, 0, 2, -3}, {}, {kInt})), (Runs{{0, 12}, {-12, 4}}));
  EXPECT_EQ(runs(made(Made::Hindexed, {2, 1, 2}, {9, -7}, {kInt})), (Runs{{9, 4}, {-7, 8}}));
  EXPECT_EQ(bounds(made(Made::Hindexed, {2, 1, 2}, {9, -7}, {kInt})), (Numbers{-7, 20, -7, 20}));
  EXPECT_EQ(runs(made(Made::IndexedBlock, {2, 2, 5, 1}, {}, {kInt})), (Runs{{20, 8}, {4, 8}}));
  EXPECT_EQ(runs(made(Made::HindexedBlock, {2, 1}, {3, 10}, {kChar})), (Runs{{3, 1}, {10, 1}}));
  EXPECT_EQ(bounds(made(Made::HindexedBlock, {2, 1}, {3, 10}, {kChar})), (Numbers{3, 8, 3, 8}));
}

TEST(TypeTree, StructsArePadded) {
  // The example of the standard: {double at 0, char at 8} has extent 16.
  const TypeTree inner = structure({{1, 0, kDouble}, {1, 8, kChar}});
  EXPECT_EQ(bounds(inner), (Numbers{0, 16, 0, 9}));
  const TypeTree outer = structure({{2, 0, named("MPI_FLOAT", 4)}, {1, 16, inner}, {3, 26, kChar}});
  EXPECT_EQ(runs(outer), (Runs{{0, 8}, {16, 9}, {26, 3}}));
  EXPECT_EQ(bounds(outer), (Numbers{0, 32, 0, 29}));
  // Complex numbers lie as their parts do, long doubles at multiples of 16.
  EXPECT_EQ(bounds(structure({{1, 0, named("MPI_C_DOUBLE_COMPLEX", 16)}, {1, 16, kChar}}))[1], 24);
  EXPECT_EQ(bounds(structure({{1, 0, named("MPI_LONG_DOUBLE", 16)}, {1, 16, kChar}}))[1], 32);
  EXPECT_EQ(bounds(structure({{1, 0, named("MPI_SHORT_INT", 6, 8)}, {1, 8, kChar}}))[1], 12);
  EXPECT_EQ(bounds(structure({{1, 0, named("MPI_PACKED", 1)}, {1, 1, kChar}}))[1], 2);
  EXPECT_EQ(bounds(structure({{1, 0, named("MPI_SOMETHING", 6)}, {1, 6, kChar}}))[1], 7);
}

TEST(TypeTree, ExplicitBoundsHideTheOthers) {
  // The example of the standard.
  const TypeTree type1 = resized(kInt, -3, 9);
  EXPECT_EQ(bounds(type1), (Numbers{-3, 9, 0, 4}));
  EXPECT_EQ(bounds(contiguous(2, type1)), (Numbers{-3, 18, 0, 13}));
  EXPECT_EQ(bounds(structure({{1, -20, kInt}, {1, 0, type1}})), (Numbers{-3, 9, -20, 24}));
  EXPECT_EQ(bounds(structure({{2, 0, type1}, {1, 40, kDouble}})), (Numbers{-3, 18, 0, 48}));
  // No padding if the bound is explicit.
  EXPECT_EQ(bounds(structure({{1, 0, resized(kInt, 0, 5)}}))[1], 5);
  // Only the last one counts.
  EXPECT_EQ(bounds(resized(type1, 1, 4)), (Numbers{1, 4, 0, 4}));
  EXPECT_FALSE(flat(resized(kInt, 0, 8)).solid);
  EXPECT_EQ(runs(resized(vector(2, 1, 2, kInt), 0, 12)).size(), 2u);
  EXPECT_EQ(runs(contiguous(3, resized(vector(2, 1, 2, kInt), 0, 4))).size(), 6u);
  // Backwards.
  EXPECT_EQ(bounds(contiguous(3, resized(kInt, 0, -8))), (Numbers{-16, 8, -16, 20}));
  EXPECT_EQ(runs(contiguous(3, resized(kInt, 0, -8))), (Runs{{0, 4}, {-8, 4}, {-16, 4}}));
  // As old programs did it.
  const TypeTree marks = structure({{1, -8, named("MPI_LB", 0)}, {1, 0, kInt}, {1, 24, named("MPI_UB", 0)}});
  EXPECT_EQ(bounds(marks), (Numbers{-8, 32, 0, 4}));
}

TEST(TypeTree, TheLibrarysBoundsPlaceTheCopies) {
  TypeTree type = hvector(2, 1, 5, kInt);
  type.bounds = TypeTree::Bounds{0, 9};
  EXPECT_EQ(bounds(type), (Numbers{0, 9, 0, 9}));
  EXPECT_EQ(runs(contiguous(2, type)), (Runs{{0, 4}, {5, 8}, {14, 4}}));
}

TEST(TypeTree, NothingIsNothing) {
  const TypeTree empty = contiguous(0, kInt);
  EXPECT_EQ(bounds(empty), (Numbers{0, 0, 0, 0}));
  EXPECT_TRUE(flat(empty).solid);
  EXPECT_EQ(bounds(vector(3, 0, 4, kInt)), (Numbers{0, 0, 0, 0}));
  EXPECT_EQ(bounds(made(Made::Indexed, {3, 0, 1, 0, -4, 2, 9}, {}, {kInt})), (Numbers{8, 4, 8, 4}));
  EXPECT_EQ(bounds(structure({{1, 40, empty}, {1, 8, kInt}, {0, 80, resized(kInt, -9, 100)}})), (Numbers{8, 4, 8, 4}));
  EXPECT_EQ(bounds(structure({})), (Numbers{0, 0, 0, 0}));
  // It may still have a place.
  const TypeTree placed = resized(empty, -8, 20);
  EXPECT_EQ(bounds(contiguous(10, placed)), (Numbers{-8, 200, 0, 0}));
  EXPECT_EQ(bounds(contiguous(0, placed)), (Numbers{0, 0, 0, 0}));
  // However often.
  EXPECT_TRUE(flat(contiguous(std::int64_t{1} << 60, empty)).known);
}

TEST(TypeTree, FortranTypes) {
  TypeTree real = made(Made::F90Real, {15, -32766}, {}, {});
  real.size = 8;
  real.extent = 8;
  EXPECT_EQ(runs(contiguous(2, real)), (Runs{{0, 16}}));
  EXPECT_EQ(bounds(structure({{1, 0, real}, {1, 8, kChar}}))[1], 16);
  TypeTree complex = made(Made::F90Complex, {15, 300}, {}, {});
  complex.size = 16;
  complex.extent = 16;
  EXPECT_EQ(bounds(structure({{1, 0, complex}, {1, 16, kChar}}))[1], 24);
}

TEST(TypeTree, RunsAreFoundByTheirBytes) {
  FlatType flat;
  flat.runs = {{0, 3}, {10, 1}, {20, 8}};
  const auto begins = begins_of_runs(flat);
  EXPECT_EQ(begins, (std::vector<std::uint64_t>{0, 3, 4}));
  const std::size_t expected[] = {0, 0, 0, 1, 2, 2, 2, 2, 2, 2, 2, 2};
  for (std::uint64_t byte = 0; byte < 12; ++byte) EXPECT_EQ(run_of(begins, byte), expected[byte]) << byte;
}

TEST(TypeTree, BoundsOfSeveralElementsAreThoseOfTheirRuns) {
  const TypeTree all[] = {kInt,
                          contiguous(3, kDouble),
                          vector(3, 2, 5, kInt),
                          hvector(4, 1, -24, kDouble),
                          resized(vector(2, 1, 3, kInt), 0, -40),
                          resized(structure({{1, 8, kInt}, {2, 24, kChar}}), 8, 4)};
  for (const TypeTree& tree : all) {
    const FlatType type = flat(tree);
    for (std::uint64_t count = 1; count < 4; ++count) {
      std::int64_t first = INT64_MAX, last = INT64_MIN;
      for (std::uint64_t i = 0; i < count; ++i)
        for (const FlatType::Run& run : type.runs) {
          const std::int64_t begin = static_cast<std::int64_t>(i) * type.extent + run.offset;
          first = std::min(first, begin);
          last = std::max(last, begin + static_cast<std::int64_t>(run.size));
        }
      const Bounds found = bounds_of(type, count);
      EXPECT_EQ(found.begin, first);
      EXPECT_EQ(found.end, last);
    }
    EXPECT_EQ(bounds_of(type, 0).end, 0);
  }
}

TEST(TypeTree, Subarrays) {
  // Rows 1 and 2, columns 1 to 2 of 3 rows with 4 columns; in Fortran the first index is the fast one.
  const Numbers arguments{2, 3, 4, 2, 2, 1, 1, TypeTree::kOrderC};
  EXPECT_EQ(runs(made(Made::Subarray, arguments, {}, {kInt})), (Runs{{20, 8}, {36, 8}}));
  EXPECT_EQ(bounds(made(Made::Subarray, arguments, {}, {kInt})), (Numbers{0, 48, 20, 24}));
  Numbers fortran = arguments;
  fortran.back() = TypeTree::kOrderFortran;
  EXPECT_EQ(runs(made(Made::Subarray, fortran, {}, {kInt})), (Runs{{16, 8}, {28, 8}}));
  // The place of the whole array starts at zero, wherever its elements have their bounds.
  EXPECT_EQ(bounds(made(Made::Subarray, {1, 4, 2, 1, TypeTree::kOrderC}, {}, {resized(kInt, -3, 9)})),
            (Numbers{0, 36, 9, 13}));
}

// All elements of the array in the order of memory, those of the rank by the definition of the distributions.
Runs darray_by_hand(const TypeTree& tree, std::int64_t extent) {
  const auto dims = static_cast<std::size_t>(tree.integers[2]);
  const auto of = [&](std::size_t list, std::size_t dim) { return tree.integers[3 + list * dims + dim]; };
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < dims; ++i) elements *= of(0, i);
  Runs found;
  for (std::int64_t element = 0; element < elements; ++element) {
    std::int64_t rank = 0;
    std::vector<std::int64_t> owner(dims);
    std::int64_t rest = element;
    for (std::size_t i = 0; i < dims; ++i) {
      const std::size_t dim = tree.integers.back() == TypeTree::kOrderFortran ? i : dims - 1 - i;
      const std::int64_t index = rest % of(0, dim);
      rest /= of(0, dim);
      const bool is_block = of(1, dim) == TypeTree::kBlock;
      const std::int64_t block = of(2, dim) != kDefault ? of(2, dim)
                                 : is_block             ? (of(0, dim) + of(3, dim) - 1) / of(3, dim)
                                                        : 1;
      owner[dim] = of(1, dim) == TypeTree::kNone ? 0 : index / block % of(3, dim);
    }
    for (std::size_t dim = 0; dim < dims; ++dim) rank = rank * of(3, dim) + owner[dim];
    if (rank != tree.integers[1]) continue;
    const std::int64_t at = element * extent;
    if (!found.empty() && found.back().offset + static_cast<std::int64_t>(found.back().size) == at)
      found.back().size += static_cast<std::uint64_t>(extent);
    else found.push_back({at, static_cast<std::uint64_t>(extent)});
  }
  return found;
}

TEST(TypeTree, DarraysOfAllKinds) {
  std::mt19937 random(7);
  const auto pick = [&](int from, int to) -> std::int64_t {
    return std::uniform_int_distribution<int>(from, to)(random);
  };
  for (int round = 0; round < 200; ++round) {
    const auto dims = static_cast<std::size_t>(pick(1, 3));
    Numbers sizes, distributions, arguments, grid;
    std::int64_t ranks = 1;
    for (std::size_t i = 0; i < dims; ++i) {
      sizes.push_back(pick(1, 11));
      distributions.push_back(pick(0, 2));
      grid.push_back(distributions[i] == TypeTree::kNone ? 1 : pick(1, 4));
      ranks *= grid[i];
      arguments.push_back(pick(0, 1) == 0                         ? kDefault
                          : distributions[i] == TypeTree::kCyclic ? pick(1, 4)
                                                                  : (sizes[i] + grid[i] - 1) / grid[i] + pick(0, 2));
    }
    std::uint64_t bytes = 0;
    std::int64_t elements = 1;
    for (const std::int64_t size : sizes) elements *= size;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      Numbers integers{ranks, rank, static_cast<std::int64_t>(dims)};
      for (const Numbers* list : {&sizes, &distributions, &arguments, &grid})
        integers.insert(integers.end(), list->begin(), list->end());
      integers.push_back(round % 2 == 0 ? TypeTree::kOrderC : TypeTree::kOrderFortran);
      const TypeTree tree = made(Made::Darray, integers, {}, {kInt});
      const FlatType type = flat(tree);
      ASSERT_TRUE(type.known);
      EXPECT_EQ(type.runs, darray_by_hand(tree, 4));
      EXPECT_EQ(type.lower, 0);
      EXPECT_EQ(type.extent, 4 * elements);
      bytes += type.size;
    }
    EXPECT_EQ(bytes, static_cast<std::uint64_t>(4 * elements));
  }
}

TEST(TypeTree, DarraysThatCannotBe) {
  const Numbers good{2, 1, 1, 5, TypeTree::kBlock, 3, 2, TypeTree::kOrderC};
  EXPECT_EQ(runs(made(Made::Darray, good, {}, {kInt})), (Runs{{12, 8}}));
  // The rank, the dimensions, the distribution, blocks that leave something over, the grid, the order.
  const std::vector<std::pair<std::size_t, std::int64_t>> wrong{{1, 2}, {2, 2}, {4, 7}, {5, 2},
                                                                {5, 0}, {6, 3}, {6, 0}, {7, 9}};
  for (const auto& [at, value] : wrong) {
    Numbers bad = good;
    bad[at] = value;
    EXPECT_FALSE(flat(made(Made::Darray, bad, {}, {kInt})).known) << at;
  }
}

TEST(TypeTree, NoMoreRunsThanAllowed) {
  EXPECT_TRUE(flatten(vector(10, 1, 2, kInt), 10).known);
  EXPECT_FALSE(flatten(vector(11, 1, 2, kInt), 10).known);
  EXPECT_TRUE(flatten(vector(11, 1, 2, kInt), 10).runs.empty());
  EXPECT_TRUE(flatten(vector(11, 2, 2, kInt), 1).known);
  // Nothing that is too much is built, nor counted one by one.
  const std::int64_t huge = std::int64_t{1} << 40;
  EXPECT_FALSE(flat(vector(huge, 1, 2, kInt)).known);
  EXPECT_EQ(runs(vector(huge, 1, 1, contiguous(4, kInt))), (Runs{{0, std::uint64_t{1} << 44}}));
  EXPECT_FALSE(flat(contiguous(huge, contiguous(huge, kInt))).known);
  EXPECT_EQ(flat(vector(100'000, 1, 3, kDouble)).runs.size(), 100'000u);
}

TEST(TypeTree, WhatIsNotSoundIsUnknown) {
  EXPECT_FALSE(flat(TypeTree()).known);
  EXPECT_FALSE(flat(structure({{1, 0, kInt}, {1, 4, TypeTree()}})).known);
  EXPECT_FALSE(flat(made(Made::Vector, {1, 2}, {}, {kInt})).known);
  EXPECT_FALSE(flat(made(Made::Contiguous, {-1}, {}, {kInt})).known);
  EXPECT_FALSE(flat(made(Made::Contiguous, {1}, {}, {})).known);
  EXPECT_FALSE(flat(made(Made::Indexed, {INT64_MAX, 1}, {}, {kInt})).known);
  EXPECT_FALSE(flat(resized(kInt, INT64_MAX, INT64_MAX)).known);
  EXPECT_FALSE(flat(hvector(3, 1, INT64_MAX, kInt)).known);
  EXPECT_FALSE(flat(made(Made::Hindexed, {2, 1, 1}, {INT64_MIN, INT64_MAX - 8}, {kInt})).known);
  TypeTree deep = kInt;
  for (std::size_t i = 1; i < kDeepestTypeTree; ++i) deep = contiguous(1, deep);
  EXPECT_TRUE(flat(deep).known);
  EXPECT_TRUE(type_tree_from(to_bytes(deep)));
  deep = contiguous(1, deep);
  EXPECT_FALSE(flat(deep).known);
  EXPECT_FALSE(type_tree_from(to_bytes(deep)));
}

TypeTree one_of_each() {
  TypeTree darray =
      made(Made::Darray, {2, 1, 1, 9, TypeTree::kCyclic, kDefault, 2, TypeTree::kOrderFortran}, {}, {kInt});
  darray.bounds = TypeTree::Bounds{-5, 77};
  TypeTree real = made(Made::F90Real, {6, -32766}, {}, {});
  real.size = 4;
  real.extent = 4;
  return structure(
      {{1, -1, resized(vector(3, 2, -4, darray), INT64_MIN, 3)}, {2, INT64_MAX, real}, {0, 0, TypeTree()}});
}

TEST(TypeTree, SurvivesTheLog) {
  const std::vector<std::uint8_t> bytes = to_bytes(one_of_each());
  const std::optional<TypeTree> back = type_tree_from(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, one_of_each());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(type_tree_from(std::span(bytes).first(size)));
  std::vector<std::uint8_t> longer = bytes;
  longer.push_back(0);
  EXPECT_FALSE(type_tree_from(longer));
}

TEST(TypeTree, GarbageDoesNoHarm) {
  std::mt19937 random(11);
  const std::vector<TypeTree> trees{one_of_each(), structure({{3, 8, vector(3, 2, 4, kDouble)}, {1, 0, kChar}}),
                                    made(Made::Subarray, {2, 3, 4, 2, 2, 1, 1, 0}, {}, {hvector(5, 1, 9, kInt)}),
                                    made(Made::Darray, {4, 1, 2, 9, 5, 1, 0, 2, kDefault, 2, 2, 0}, {}, {kInt})};
  for (int round = 0; round < 10'000; ++round) {
    std::vector<std::uint8_t> bytes = to_bytes(trees[random() % trees.size()]);
    for (std::size_t changes = 1 + random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : random() % 8);
    if (const std::optional<TypeTree> tree = type_tree_from(bytes)) {
      flatten(*tree, 1000);
      flow::type_code(*tree, "type");
    }
  }
}

TEST(TypeCode, NamedTypesAreJustNamed) { EXPECT_EQ(flow::type_code(kInt, "type"), "  type = MPI_INT;\n"); }

TEST(TypeCode, PartsAreFreedWhenTheyAreNotNeeded) {
  const TypeTree row = vector(3, 2, -4, kInt);
  EXPECT_EQ(
      flow::type_code(structure({{1, 0, row}, {2, 64, kDouble}, {1, 96, row}}), "sent"),
      "  MPI_Datatype sent_1;\n"
      "  MPI_Type_vector(3, 2, -4, MPI_INT, &sent_1);\n"
      "  MPI_Type_create_struct(3, (int[]){1, 2, 1}, (MPI_Aint[]){0, 64, 96}, (MPI_Datatype[]){sent_1, MPI_DOUBLE,\n"
      "      sent_1}, &sent);\n"
      "  MPI_Type_free(&sent_1);\n"
      "  MPI_Type_commit(&sent);\n");
}

TEST(TypeCode, ConstantsHaveNames) {
  EXPECT_EQ(flow::type_code(made(Made::Darray, {2, 1, 1, 9, TypeTree::kCyclic, kDefault, 2, 1}, {}, {kInt}), "t"),
            "  MPI_Type_create_darray(2, 1, 1, (int[]){9}, (int[]){MPI_DISTRIBUTE_CYCLIC},\n"
            "      (int[]){MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2}, MPI_ORDER_FORTRAN, MPI_INT, &t);\n"
            "  MPI_Type_commit(&t);\n");
  // Types for Fortran are there from the start: nobody may free them.
  EXPECT_EQ(flow::type_code(contiguous(2, made(Made::F90Real, {6, -32766}, {}, {})), "t"),
            "  MPI_Datatype t_1;\n"
            "  MPI_Type_create_f90_real(6, MPI_UNDEFINED, &t_1);\n"
            "  MPI_Type_contiguous(2, t_1, &t);\n"
            "  MPI_Type_commit(&t);\n");
}

TEST(TypeCode, EmptyLongAndLarge) {
  EXPECT_EQ(flow::type_code(made(Made::Hindexed, {0}, {}, {kInt}), "t"),
            "  MPI_Type_create_hindexed(0, (int[]){0}, (MPI_Aint[]){0}, MPI_INT, &t);\n  MPI_Type_commit(&t);\n");
  EXPECT_EQ(flow::type_code(contiguous(std::int64_t{1} << 40, kInt), "t"),
            "  MPI_Type_contiguous_c(1099511627776, MPI_INT, &t);\n  MPI_Type_commit(&t);\n");
  TypeTree list = made(Made::HindexedBlock, {5000, 1}, {}, {kInt});
  for (std::int64_t i = 0; i < 5000; ++i) list.addresses.push_back(8 * i);
  const std::string code = flow::type_code(list, "t");
  EXPECT_EQ(code.find("  static const MPI_Aint t_list_1[] = {0, 8, 16,"), 0u);
  EXPECT_NE(code.find("  MPI_Type_create_hindexed_block(5000, 1, t_list_1, MPI_INT, &t);\n"), std::string::npos);
}

TEST(TypeCode, WhatIsNotKnownIsNotMade) {
  const std::string nothing = "  t = MPI_DATATYPE_NULL;  // how it was made is not known\n";
  EXPECT_EQ(flow::type_code(contiguous(1, TypeTree()), "t"), nothing);
  EXPECT_EQ(flow::type_code(named("MPI_INT; system(\"x\")", 4), "t"), nothing);
}

}  // namespace
}  // namespace reprise::engine
