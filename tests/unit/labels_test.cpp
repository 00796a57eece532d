// Labels of data sources: against an array that holds one label for each byte.
#include "flow/labels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <random>

namespace reprise::flow {
namespace {

constexpr std::uint64_t kBytes = 256;

struct Byte {
  std::uint32_t operation = 0;
  std::uint64_t address = 0;
  bool operator==(const Byte&) const = default;
};
using Memory = std::array<std::optional<Byte>, kBytes>;

Memory read(const Labels& labels) {
  Memory out;
  std::vector<Labelled> found;
  labels.find(0, kBytes, found, 0);
  for (const Labelled& one : found)
    for (std::uint64_t i = 0; i < one.bytes; ++i) {
      EXPECT_FALSE(out[one.at + i]) << "two labels for one byte";
      out[one.at + i] = Byte{one.label.operation, one.label.address + i};
    }
  return out;
}

TEST(Labels, AreThoseOfEachByte) {
  std::mt19937_64 random(5);
  for (int run = 0; run < 200; ++run) {
    Labels labels;
    Memory memory;
    for (int step = 0; step < 100; ++step) {
      const std::uint64_t at = random() % kBytes;
      const std::uint64_t bytes = random() % (kBytes - at + 1);
      if (random() % 3 == 0) {
        labels.erase(at, bytes);
        for (std::uint64_t i = 0; i < bytes; ++i) memory[at + i].reset();
      } else {
        const Label label{static_cast<std::uint32_t>(random() % 3), kNoHop, random() % 4 * 64 + at};
        labels.set(at, bytes, label);
        for (std::uint64_t i = 0; i < bytes; ++i) memory[at + i] = Byte{label.operation, label.address + i};
      }
      ASSERT_EQ(read(labels), memory) << "run " << run << ", step " << step;
    }
  }
}

TEST(Labels, WhatFollowsIsOnePiece) {
  Labels labels;
  labels.set(0, 8, {1, kNoHop, 100});
  labels.set(8, 8, {1, kNoHop, 108});
  EXPECT_EQ(labels.size(), 1u);
  labels.set(16, 8, {2, kNoHop, 116});  // contiguous, but of another source (FlowChecker, figure 5)
  EXPECT_EQ(labels.size(), 2u);
  labels.set(24, 8, {2, kNoHop, 124, true});
  EXPECT_EQ(labels.size(), 3u);
}

TEST(Labels, PartsCountFromWhereTheyWereAskedFor) {
  Labels labels;
  labels.set(10, 10, {7, kNoHop, 1000});
  std::vector<Labelled> found;
  labels.find(15, 3, found, 40);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].at, 40u);
  EXPECT_EQ(found[0].bytes, 3u);
  EXPECT_EQ(found[0].label.address, 1005u);
}

}  // namespace
}  // namespace reprise::flow
