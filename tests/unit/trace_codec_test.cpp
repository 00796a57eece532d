// The codec alone: exactness for every kind of record, and how small the columns of skewed symbols become.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

#include "trace/chunk_codec.hpp"
#include "trace/entropy.hpp"
#include "trace/poll_split.hpp"
#include "trace_support.hpp"

namespace reprise::trace {
namespace {

std::vector<std::uint8_t> encode(const std::vector<std::uint8_t>& records, ChunkCounts& counts) {
  static std::vector<std::uint8_t> scratch(encode_scratch_size());
  const auto payload = encode_chunk(records, scratch, counts);
  return {payload.begin(), payload.end()};
}

void expect_round_trip(const std::vector<std::uint8_t>& records) {
  ChunkCounts counts;
  const auto payload = encode(records, counts);
  ASSERT_FALSE(payload.empty());
  ChunkCounts again;
  ChunkDecoder decoder;
  const auto decoded = decoder.decode(payload, again);
  ASSERT_TRUE(decoded) << decoded.error().what;
  EXPECT_TRUE(std::ranges::equal(*decoded, records));
  EXPECT_EQ(counts.events, again.events);
  EXPECT_EQ(counts.wildcards, again.wildcards);
  EXPECT_EQ(counts.lates, again.lates);
  const auto lates = decode_lates(payload);
  ASSERT_TRUE(lates);
  EXPECT_EQ(lates->size(), counts.lates);
}

void add_head(std::vector<std::uint8_t>& records, Kind kind, std::uint64_t hits) {
  std::uint8_t head[16];
  head[0] = static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 4 | std::min<std::uint64_t>(hits, 15));
  const std::uint8_t* end = hits >= 15 ? put_varint(head + 1, hits - 15) : head + 1;
  records.insert(records.end(), static_cast<const std::uint8_t*>(head), end);
}

std::vector<std::uint8_t> random_records(std::size_t limit, Random& random, const std::function<Kind()>& kind) {
  std::vector<std::uint8_t> records;
  while (records.size() + 5000 < limit) {
    const Kind next = kind();
    add_head(records, next, random() % 20 == 0 ? random() & UINT32_MAX : random() % 17);
    const auto payload = random_payload(next, random);
    records.insert(records.end(), payload.begin(), payload.end());
  }
  add_head(records, Kind::Pause, 3);
  return records;
}

TEST(TraceCodec, RandomChunksComeBackByteForByte) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("REPRISE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 40; ++i) {
    const std::size_t limit = 5000 + random() % (i < 4 ? kChunkCapacity - 5000 : 40000);
    expect_round_trip(random_records(limit, random, [&] { return random_kind(random); }));
  }
  for (const Kind only : {Kind::Event, Kind::Wildcard, Kind::Poll, Kind::Indices, Kind::Time, Kind::Late, Kind::Define,
                          Kind::Numbers, Kind::Bytes})
    expect_round_trip(random_records(100000, random, [&] { return only; }));
}

TEST(TraceCodec, SmallestChunks) {
  expect_round_trip({});
  expect_round_trip({0xf0});
  expect_round_trip({0xff, 0x00});
  expect_round_trip({0x00, 0x00});
}

TEST(TraceCodec, EveryPrefixOfRecordsIsSplitWithoutReadingBeyondIt) {
  Random random(7);
  auto records = random_records(6000, random, [&] { return random_kind(random); });
  for (std::size_t size = 0; size <= records.size(); ++size) {
    const std::vector<std::uint8_t> prefix(records.begin(), records.begin() + static_cast<std::ptrdiff_t>(size));
    ChunkCounts counts;
    const auto payload = encode(prefix, counts);
    if (payload.empty()) continue;
    ChunkDecoder decoder;
    const auto decoded = decoder.decode(payload, counts);
    ASSERT_TRUE(decoded);
    EXPECT_TRUE(std::ranges::equal(*decoded, prefix));
  }
}

TEST(TraceCodec, PollCountsOfEveryWidth) {
  std::vector<std::uint8_t> records;
  for (unsigned width = 0; width < 64; ++width) {
    const std::uint64_t power = std::uint64_t{1} << width;
    for (const std::uint64_t value : {power - 1, power, power + 1, power | power >> 1, ~power, ~std::uint64_t{0}}) {
      add_head(records, Kind::Poll, 0);
      std::uint8_t slot[8];
      put_fixed(slot, value);
      records.insert(records.end(), slot, slot + 8);
      unsigned extra;
      const PollSplit split = split_poll(value >> 1);
      ASSERT_LT(split.symbol, kUnsuccessful);
      const std::uint64_t base = poll_base(split.symbol, extra);
      EXPECT_EQ(extra, split.extra);
      EXPECT_EQ(base | (value >> 1 & ((std::uint64_t{1} << extra) - 1)), value >> 1);
    }
  }
  expect_round_trip(records);
}

TEST(TraceCodec, EntropyCoderIsExact) {
  Random random(5);
  for (const std::size_t alphabet : {1, 2, 3, 17, 255, 256}) {
    for (const std::size_t size : {1, 2, 3, 1000, 70001}) {
      std::vector<std::uint8_t> symbols(size);
      for (auto& symbol : symbols)
        symbol = static_cast<std::uint8_t>(std::min(random() % alphabet, random() % alphabet));
      std::vector<std::uint8_t> room(size + 2000);
      const auto stored = entropy_encode(symbols, histogram(symbols), room);
      ASSERT_FALSE(stored.empty());
      std::vector<std::uint8_t> again(size);
      ASSERT_TRUE(entropy_decode(stored, again));
      EXPECT_TRUE(again == symbols);
      EXPECT_FALSE(entropy_decode(stored.first(stored.size() - 1), again));
    }
  }
}

TEST(TraceCodec, RandomSendersCostAQuarterByte) {
  Random random(11);
  std::vector<std::uint8_t> records;
  std::size_t count = 0;
  for (; records.size() + 16 < kChunkCapacity; ++count) {
    add_head(records, Kind::Wildcard, 1);
    std::uint8_t slot[8];
    put_fixed(put_fixed(slot, static_cast<std::uint32_t>(kSourceBase + random() % 3)), std::int32_t{42});
    records.insert(records.end(), slot, slot + 8);
  }
  add_head(records, Kind::Pause, 0);
  ChunkCounts counts;
  encode(records, counts);
  const auto start = std::chrono::steady_clock::now();
  const auto payload = encode(records, counts);
  const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
  const double each = static_cast<double>(payload.size()) / static_cast<double>(count);
  std::printf("  %zu wildcard records, 3 random senders: %.4f bytes each, chunk closed in %.2f ms\n", count, each,
              taken.count());
  EXPECT_LE(each, 0.25);
}

TEST(TraceCodec, AClockReadInALoopCostsLittle) {
  Random random(17);
  const auto measure = [&](const char* name, const std::function<std::int64_t()>& step) {
    std::vector<std::uint8_t> records;
    std::size_t count = 0;
    for (; records.size() + 32 < kChunkCapacity; ++count) {
      add_head(records, Kind::Numbers, 1);
      std::uint8_t payload[1 + kMaxVarint];
      const std::uint8_t* end = put_signed(put_varint(payload, 1), step());
      records.insert(records.end(), static_cast<const std::uint8_t*>(payload), end);
    }
    ChunkCounts counts;
    const auto stored = encode(records, counts);
    const double each = static_cast<double>(stored.size()) / static_cast<double>(count);
    std::printf("  clock reads, %-26s %.2f bytes each (%.2f in the open chunk)\n", name, each,
                static_cast<double>(records.size()) / static_cast<double>(count));
    expect_round_trip(records);
    return each;
  };
  std::normal_distribution<double> busy(60, 5);
  EXPECT_LE(measure("in a busy loop:", [&] { return static_cast<std::int64_t>(busy(random)); }), 1);
  EXPECT_LE(measure("every 10 to 30 us:", [&] { return static_cast<std::int64_t>(10000 + random() % 20000); }), 2.5);
}

void expect_near_entropy(const char* name, const std::function<std::uint64_t()>& draw) {
  std::vector<std::uint8_t> records;
  std::map<std::uint64_t, double> seen;
  double count = 0;
  for (; records.size() + 16 < kChunkCapacity; ++count) {
    const std::uint64_t failures = draw();
    ++seen[failures];
    add_head(records, Kind::Poll, 1);
    std::uint8_t slot[8];
    put_fixed(slot, failures << 1 | 1);
    records.insert(records.end(), slot, slot + 8);
  }
  double bits = 0;
  for (const auto& [value, times] : seen) bits += times * std::log2(count / times);
  ChunkCounts counts;
  const auto payload = encode(records, counts);
  const double ratio = static_cast<double>(payload.size()) * 8 / bits;
  std::printf("  polls, %-22s %.3f bits each, order-0 entropy %.3f: ratio %.3f\n", name,
              static_cast<double>(payload.size()) * 8 / count, bits / count, ratio);
  EXPECT_LE(ratio, 1.2) << name;
  expect_round_trip(records);
}

TEST(TraceCodec, PollCountsStayNearTheirEntropy) {
  Random random(13);
  std::geometric_distribution<std::uint64_t> short_waits(0.3);
  std::geometric_distribution<std::uint64_t> long_waits(0.01);
  std::lognormal_distribution<double> usual(4, 1);
  std::lognormal_distribution<double> narrow(6.2, 0.1);
  expect_near_entropy("geometric, mean 2.3:", [&] { return short_waits(random); });
  expect_near_entropy("geometric, mean 99:", [&] { return long_waits(random); });
  expect_near_entropy("lognormal(4, 1):", [&] { return static_cast<std::uint64_t>(usual(random)); });
  expect_near_entropy("lognormal(6.2, 0.1):", [&] { return static_cast<std::uint64_t>(narrow(random)); });
  expect_near_entropy("95 % zero:", [&] { return random() % 100 < 95 ? 0 : 1 + short_waits(random); });
  expect_near_entropy("95 % zero, long rest:", [&] { return random() % 100 < 95 ? 0 : long_waits(random); });
}

TEST(TraceCodec, DamagedPayloadsAreRefusedOrDecoded) {
  Random random(17);
  const auto records = random_records(8000, random, [&] { return random_kind(random); });
  ChunkCounts counts;
  const auto payload = encode(records, counts);
  for (std::size_t at = 0; at < payload.size(); ++at) {
    auto broken = payload;
    broken[at] ^= static_cast<std::uint8_t>(1 + random() % 255);
    static_cast<void>(ChunkDecoder().decode(broken, counts));
    static_cast<void>(decode_lates(broken));
    broken.resize(at);
    EXPECT_FALSE(ChunkDecoder().decode(broken, counts));
  }
}

}  // namespace
}  // namespace reprise::trace
