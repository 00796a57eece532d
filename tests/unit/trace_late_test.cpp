// Outcomes of receives that were still pending when their chunk was closed.
#include <sys/resource.h>

#include "trace_support.hpp"

namespace reprise::trace {
namespace {

void post(ChunkWriter& writer) {
  std::uint8_t* out = writer.reserve(Kind::Wildcard, kWildcardBytes);
  out = put_fixed<std::uint32_t>(out, kPending);
  writer.commit(put_fixed<std::int32_t>(out, 0));
}

void complete_late(ChunkWriter& writer, std::uint64_t ordinal) {
  std::uint8_t* out = writer.reserve(Kind::Late, 3 * kMaxVarint);
  out = put_varint(out, ordinal);
  out = put_varint(out, kSourceBase + ordinal % 1000);
  writer.commit(put_signed(out, -static_cast<std::int64_t>(ordinal % 77)));
}

void fill_chunk(ChunkWriter& writer) {
  for (const std::uint64_t chunk = writer.chunk_number(); writer.chunk_number() == chunk;) {
    std::uint8_t* out = writer.reserve(Kind::Define, 60000);
    out = put_varint(out, 50000);
    std::memset(out, 1, 50000);
    writer.commit(out + 50000);
  }
}

bool never(std::uint64_t ordinal) { return ordinal % 50 == 49; }

// `posted` receives in one go, then `gap` chunks of other things, then their outcomes in an order of their own.
void expect_found(std::uint64_t posted, int gap, bool sealed) {
  TemporaryDirectory dir;
  Recorder recorder;
  recorder.attach(dir, false);
  ChunkWriter& writer = recorder.writer;
  std::uint64_t first = 0;
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = 0; i < posted; ++i) post(writer);
    for (int i = 0; i < gap; ++i) fill_chunk(writer);
    for (std::uint64_t i = 0; i < posted; ++i) {
      const std::uint64_t ordinal = first + (i * 7919 + 13) % posted;
      if (!never(ordinal)) complete_late(writer, ordinal);
    }
    first += posted;
  }
  if (sealed) writer.finish({EndKind::Finalized, 0, false});

  auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
  ASSERT_TRUE(reader) << reader.error().what;
  std::uint64_t ordinal = 0;
  for (;;) {
    const auto record = reader->next();
    ASSERT_TRUE(record);
    if (!*record) break;
    if ((*record)->kind != Kind::Wildcard) continue;
    const auto late = reader->late(ordinal);
    ASSERT_TRUE(late) << late.error().what;
    EXPECT_EQ(late->ordinal, ordinal);
    EXPECT_EQ(late->code, never(ordinal) ? static_cast<std::uint32_t>(kPending) : kSourceBase + ordinal % 1000);
    EXPECT_EQ(late->tag, never(ordinal) ? 0 : -static_cast<std::int32_t>(ordinal % 77));
    ++ordinal;
  }
  EXPECT_EQ(ordinal, first);
}

TEST(TraceLate, FoundInTheOpenChunk) { expect_found(100, 0, false); }
TEST(TraceLate, FoundOneChunkOn) { expect_found(1000, 1, true); }
TEST(TraceLate, FoundManyChunksOn) { expect_found(1000, 20, true); }
TEST(TraceLate, MorePendingReceivesThanTheCacheHolds) { expect_found(200000, 2, true); }

bool is_cancelled(std::uint64_t post) { return post % 911 == 3; }

// Cancelled operations are asked for by number, in any chunk before or after their own, beside late outcomes.
void expect_cancellations(std::uint64_t posts, bool sealed) {
  TemporaryDirectory dir;
  Recorder recorder;
  recorder.attach(dir, false);
  ChunkWriter& writer = recorder.writer;
  for (std::uint64_t number = 0; number < posts; ++number) {
    post(writer);
    if (number % 100 == 0) complete_late(writer, number);
    if (!is_cancelled(number)) continue;
    std::uint8_t* out = writer.reserve(Kind::Late, 3 * kMaxVarint);
    out = put_varint(out, number);
    out = put_varint(out, kCancelledPost);
    writer.commit(put_signed(out, 0));
  }
  if (sealed) writer.finish({EndKind::Finalized, 0, false});

  auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
  ASSERT_TRUE(reader) << reader.error().what;
  for (std::uint64_t number = 0;;) {
    const auto record = reader->next();
    ASSERT_TRUE(record);
    if (!*record) break;
    if ((*record)->kind != Kind::Wildcard) continue;
    const auto cancelled = reader->cancelled(number);
    ASSERT_TRUE(cancelled) << cancelled.error().what;
    EXPECT_EQ(*cancelled, is_cancelled(number)) << number;
    if (number % 100 == 0) {
      const auto late = reader->late(number);
      ASSERT_TRUE(late);
      EXPECT_EQ(late->code, kSourceBase + number % 1000);
    }
    ++number;
  }
}

TEST(TraceLate, CancelledOperationsInTheOpenChunk) { expect_cancellations(5000, false); }
TEST(TraceLate, MoreOperationsThanTheCacheHolds) { expect_cancellations(400000, true); }

TEST(TraceLate, NothingWasCancelled) {
  TemporaryDirectory dir;
  Recorder recorder;
  recorder.attach(dir, false);
  post(recorder.writer);
  complete_late(recorder.writer, 0);
  auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
  ASSERT_TRUE(reader);
  EXPECT_FALSE(*reader->cancelled(0));
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define REPRISE_KEEPS_FREED_MEMORY
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REPRISE_KEEPS_FREED_MEMORY
#endif

TEST(TraceLate, MemoryDoesNotGrowWithTheLog) {
#ifdef REPRISE_KEEPS_FREED_MEMORY
  GTEST_SKIP() << "sanitizers keep freed memory, so the peak says nothing";
#endif
  TemporaryDirectory dir;
  constexpr std::uint64_t kPosted = 2'000'000;
  {
    Recorder recorder;
    recorder.attach(dir, false);
    for (std::uint64_t i = 0; i < kPosted; ++i) post(recorder.writer);
    for (std::uint64_t i = 0; i < kPosted; ++i) complete_late(recorder.writer, i);
    recorder.writer.finish({EndKind::Finalized, 0, false});
  }
  // In a child, whose peak memory is its own.
  const pid_t child = ::fork();
  if (child == 0) {
    struct rusage before;
    ::getrusage(RUSAGE_SELF, &before);
    auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
    if (!reader) ::_exit(1);
    std::uint64_t ordinal = 0;
    for (;;) {
      const auto record = reader->next();
      if (!record) ::_exit(2);
      if (!*record) break;
      if ((*record)->kind != Kind::Wildcard) continue;
      if (ordinal % 1000 == 0) {
        const auto late = reader->late(ordinal);
        if (!late || late->code != kSourceBase + ordinal % 1000) ::_exit(3);
      }
      ++ordinal;
    }
    struct rusage after;
    ::getrusage(RUSAGE_SELF, &after);
    const long grown = after.ru_maxrss - before.ru_maxrss;
    std::printf("  %llu receives, all completed late: peak memory +%ld KiB\n", static_cast<unsigned long long>(ordinal),
                grown);
    std::fflush(stdout);
    ::_exit(ordinal == kPosted && grown < 40 * 1024 ? 0 : 4);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace reprise::trace
