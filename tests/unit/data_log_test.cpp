// The values that reached a rank: what is written comes back, also after a kill, and repeated bytes cost little.
#include "engine/data_log.hpp"

#include <gtest/gtest.h>

#include "engine/data_replayer.hpp"
#include "trace_support.hpp"

namespace reprise::engine {
namespace {

using trace::kDataStream;
using trace::kTestTrace;
using trace::TemporaryDirectory;

struct Written {
  DataKind kind;
  std::vector<std::int64_t> fields;
  std::vector<std::vector<std::uint8_t>> parts;
};

void add(DataRecorder& recorder, const Written& entry, std::mt19937& random) {
  std::vector<std::uint64_t> sizes;
  std::vector<DataRun> runs;
  for (const auto& part : entry.parts) {
    sizes.push_back(part.size());
    // In pieces, as a datatype with holes has them.
    for (std::size_t at = 0; at < part.size();) {
      const std::size_t size = std::min<std::size_t>(part.size() - at, random() % 4 ? part.size() : 1 + random() % 1000);
      runs.push_back({part.data() + at, size});
      at += size;
    }
  }
  recorder.add(entry.kind, entry.fields, sizes, runs);
}

std::vector<std::uint8_t> bytes(std::mt19937& random, std::size_t size) {
  std::vector<std::uint8_t> result(size);
  for (auto& byte : result) byte = static_cast<std::uint8_t>(random());
  return result;
}

std::vector<Written> random_entries(std::mt19937& random, int count) {
  std::vector<Written> all;
  std::vector<std::vector<std::uint8_t>> pool;
  for (int i = 0; i < count; ++i) {
    Written entry{DataKind::Call, {}, {}};
    for (unsigned n = random() % 6; n > 0; --n)
      entry.fields.push_back(static_cast<std::int64_t>(random()) - static_cast<std::int64_t>(random()) * 1000);
    for (unsigned n = random() % 20 == 0 ? random() % 200 : random() % 3; n > 0; --n) {
      if (!pool.empty() && random() % 3 == 0) {
        entry.parts.push_back(pool[random() % pool.size()]);
        continue;
      }
      static constexpr std::size_t kSizes[] = {0, 1, 100, 127, 128, 5000, 65536, 65535, 200000};
      entry.parts.push_back(bytes(random, kSizes[random() % (n > 3 ? 6 : 9)]));
      if (pool.size() < 50) pool.push_back(entry.parts.back());
    }
    all.push_back(std::move(entry));
  }
  return all;
}

void expect_same(const TemporaryDirectory& dir, const std::vector<Written>& written) {
  auto reader = DataReader::open(dir.fd(), {kTestTrace, 3, kDataStream});
  ASSERT_TRUE(reader) << reader.error().what;
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto entry = reader->next();
    ASSERT_TRUE(entry) << entry.error().what;
    ASSERT_TRUE(*entry) << "entry " << i;
    EXPECT_EQ((*entry)->kind, written[i].kind);
    EXPECT_EQ((*entry)->fields, written[i].fields);
    ASSERT_EQ((*entry)->parts.size(), written[i].parts.size()) << "entry " << i;
    for (std::size_t k = 0; k < written[i].parts.size(); ++k)
      ASSERT_EQ(*(*entry)->parts[k], written[i].parts[k]) << "entry " << i << ", part " << k;
  }
  const auto end = reader->next();
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

TEST(DataLog, EverythingComesBack) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    std::mt19937 random(seed);
    const auto written = random_entries(random, 300);
    TemporaryDirectory dir;
    DataRecorder recorder;
    ASSERT_TRUE(recorder.open(dir.fd(), {kTestTrace, 3, kDataStream}, {}, seed % 2 == 0, UINT64_MAX));
    for (const Written& entry : written) add(recorder, entry, random);
    expect_same(dir, written);  // as a killed rank leaves it
    recorder.finish({trace::EndKind::Finalized, 0, false});
    expect_same(dir, written);
  }
}

TEST(DataLog, WhatAKilledRankLeftCanBeSealed) {
  std::mt19937 random(5);
  const auto written = random_entries(random, 100);
  TemporaryDirectory dir;
  DataRecorder recorder;
  ASSERT_TRUE(recorder.open(dir.fd(), {kTestTrace, 3, kDataStream}, {}, false, UINT64_MAX));
  for (const Written& entry : written) add(recorder, entry, random);
  const auto sealed = trace::seal(dir.fd(), 3, kTestTrace, kDataStream);
  ASSERT_TRUE(sealed) << sealed.error().what;
  expect_same(dir, written);
  EXPECT_TRUE(trace::has_log(dir.fd(), 3, kDataStream));
  EXPECT_FALSE(trace::has_log(dir.fd(), 4, kDataStream));
}

TEST(DataLog, RepeatedBytesCostNextToNothing) {
  std::mt19937 random(9);
  TemporaryDirectory dir;
  DataRecorder recorder;
  ASSERT_TRUE(recorder.open(dir.fd(), {kTestTrace, 3, kDataStream}, {}, false, UINT64_MAX));
  const auto content = bytes(random, 100000);
  const auto other = bytes(random, 100000);
  for (int i = 0; i < 1000; ++i) add(recorder, {DataKind::Call, {i}, {i % 2 ? content : other}}, random);
  recorder.finish({trace::EndKind::Finalized, 0, false});
  EXPECT_LT(std::filesystem::file_size(dir.path() / "rank-3.data"), 220000u);
}

TEST(DataLog, ALimitEndsItWithAMark) {
  std::mt19937 random(10);
  TemporaryDirectory dir;
  DataRecorder recorder;
  ASSERT_TRUE(recorder.open(dir.fd(), {kTestTrace, 3, kDataStream}, {}, false, 100000));
  for (int i = 0; i < 100; ++i) add(recorder, {DataKind::Call, {i}, {bytes(random, 3000)}}, random);
  EXPECT_FALSE(recorder.is_open());
  recorder.finish({trace::EndKind::Finalized, 0, false});
  auto reader = DataReader::open(dir.fd(), {kTestTrace, 3, kDataStream});
  ASSERT_TRUE(reader);
  int count = 0;
  for (auto entry = reader->next(); entry && *entry; entry = reader->next()) ++count;
  EXPECT_EQ(count, 33);
  EXPECT_TRUE(reader->stopped());
}

TEST(DataReplay, CompletionsAreFoundByTheirNumber) {
  std::mt19937 random(11);
  TemporaryDirectory dir;
  DataRecorder recorder;
  ASSERT_TRUE(recorder.open(dir.fd(), {kTestTrace, 3, kDataStream}, {}, false, UINT64_MAX));
  add(recorder, {DataKind::Completion, {7}, {}}, random);  // seen early
  add(recorder, {DataKind::Call, {1}, {}}, random);
  add(recorder, {DataKind::Failure, {2, 17}, {}}, random);
  add(recorder, {DataKind::Completion, {9}, {}}, random);
  add(recorder, {DataKind::Completion, {8}, {}}, random);
  add(recorder, {DataKind::Call, {2}, {}}, random);
  recorder.finish({trace::EndKind::Finalized, 0, false});
  auto reader = DataReader::open(dir.fd(), {kTestTrace, 3, kDataStream});
  ASSERT_TRUE(reader);
  DataReplayer values(std::move(*reader));
  DataEntry entry;
  using Got = DataReplayer::Got;
  EXPECT_FALSE(values.failure(1, entry));
  EXPECT_EQ(values.call(entry), Got::Entry);
  EXPECT_EQ(entry.field(0), 1);
  EXPECT_TRUE(values.failure(2, entry));
  EXPECT_EQ(entry.field(1), 17);
  EXPECT_EQ(values.completion(8, entry), Got::Entry);
  EXPECT_EQ(values.completion(7, entry), Got::Entry);
  EXPECT_FALSE(values.freed(10, entry));
  EXPECT_TRUE(values.freed(9, entry));
  EXPECT_EQ(values.completion(6, entry), Got::Wrong);
  EXPECT_FALSE(values.why().empty());
}

TEST(DataReplay, WhatWasFreedArrivesWhenItIsPassed) {
  std::mt19937 random(12);
  TemporaryDirectory dir;
  DataRecorder recorder;
  ASSERT_TRUE(recorder.open(dir.fd(), {kTestTrace, 3, kDataStream}, {}, false, UINT64_MAX));
  add(recorder, {DataKind::Completion, {4}, {{1, 2, 3}}}, random);
  add(recorder, {DataKind::Call, {}, {}}, random);
  auto reader = DataReader::open(dir.fd(), {kTestTrace, 3, kDataStream});
  ASSERT_TRUE(reader);
  DataReplayer values(std::move(*reader));
  DataEntry entry;
  EXPECT_FALSE(values.freed(4, entry));
  EXPECT_EQ(values.call(entry), DataReplayer::Got::Entry);
  const auto arrived = values.take_arrived();
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_EQ(*arrived[0].parts[0], (std::vector<std::uint8_t>{1, 2, 3}));
  EXPECT_EQ(values.call(entry), DataReplayer::Got::End);
}

}  // namespace
}  // namespace reprise::engine
