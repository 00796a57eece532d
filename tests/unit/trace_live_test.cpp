// A log that is read while its rank goes on writing it: always whole, never behind what was written before.
#include <atomic>
#include <thread>

#include "trace_support.hpp"

namespace reprise::trace {
namespace {

TEST(LiveTrace, CanBeReadAtAnyMoment) {
  constexpr std::uint64_t kRecords = 300'000;  // of a thousandth of a chunk each
  TemporaryDirectory dir;
  ChunkWriter writer;
  ASSERT_TRUE(writer.begin_private());
  ASSERT_TRUE(writer.attach(dir.fd(), {kTestTrace, 0, 0}, {{"rank", "0"}}, false));
  // Each definition holds its own number, so a reader sees at once whether one is missing, doubled or torn.
  std::atomic<std::uint64_t> written{0};
  std::atomic<bool> enough{false};
  std::thread rank([&] {
    std::uint64_t number = 0;
    while (!enough.load()) {
      constexpr std::size_t kSize = 1000;
      std::uint8_t* out = writer.reserve(Kind::Define, kMaxVarint + kSize);
      out = put_varint(out, kSize);
      std::memset(out, 0, kSize);
      put_fixed<std::uint64_t>(out, number);
      writer.commit(out + kSize);
      written.store(++number, std::memory_order_release);
    }
    writer.finish({EndKind::Finalized, 0, false});
  });
  std::uint64_t seen = 0;
  for (int look = 0; seen < kRecords && !HasFailure(); ++look) {
    const std::uint64_t before = written.load(std::memory_order_acquire);
    auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
    if (!reader) {
      ADD_FAILURE() << reader.error().what;
      break;
    }
    if (look % 30 != 0) continue;  // reading all of it takes longer than filling a chunk
    std::uint64_t count = 0;
    for (;;) {
      const auto record = reader->next();
      if (!record) ADD_FAILURE() << record.error().what;
      if (!record || !*record || HasFailure()) break;
      ByteReader in((*record)->payload);
      in.varint();
      if (in.fixed<std::uint64_t>() != count) ADD_FAILURE() << "another record in place of " << count;
      ++count;
    }
    EXPECT_GE(count, std::max(before, seen));
    seen = count;
  }
  enough = true;
  rank.join();
}

}  // namespace
}  // namespace reprise::trace
