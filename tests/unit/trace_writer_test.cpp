// The writer and the reader together: round trips through files, buffering before attach, forks, torn ends, sealing.
#include <sys/resource.h>

#include "trace/blocks.hpp"
#include "trace/chunk_codec.hpp"
#include "trace_support.hpp"

namespace reprise::trace {
namespace {

class TraceWriter : public testing::TestWithParam<bool> {
 protected:
  bool plain() const { return GetParam(); }
  TemporaryDirectory dir;
};

TEST_P(TraceWriter, RandomLogsComeBack) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("REPRISE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  Recorder recorder;
  recorder.random_records(random() % 2000, random);
  recorder.attach(dir, plain());
  recorder.random_records(plain() ? 10000 : 60000, random);
  recorder.hit(20);
  recorder.writer.finish({EndKind::Exited, 3, true});
  EXPECT_FALSE(dir.has("rank-0.open"));
  Content expected = recorder.content();
  expected.end = {EndKind::Exited, 3, true};
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_TRUE(*found == expected);
}

TEST_P(TraceWriter, AnOpenLogIsReadableAtAnyTime) {
  Random random(3);
  Recorder recorder;
  recorder.attach(dir, plain());
  for (int i = 0; i < 20; ++i) {
    recorder.random_records(i < 10 ? 3 : 4000, random);
    recorder.hit(random() % 30);
    auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
    ASSERT_TRUE(reader) << reader.error().what;
    EXPECT_TRUE(reader->unsealed());
    EXPECT_EQ(reader->info("exe"), "/bin/app");
    EXPECT_EQ(reader->info("nothing"), "");
    const auto found = read_content(dir.fd());
    ASSERT_TRUE(found) << found.error().what;
    const Content expected = recorder.content();
    EXPECT_TRUE(*found == expected);
  }
}

TEST_P(TraceWriter, SealingKeepsTheContent) {
  Random random(4);
  Recorder recorder;
  recorder.attach(dir, plain());
  recorder.random_records(9000, random);
  recorder.hit(7);
  recorder.writer.set_in_call(true);
  recorder.writer.set_end(EndKind::Aborted, -5);
  Content expected = recorder.content();
  expected.end = {EndKind::Aborted, -5, true};
  for (int i = 0; i < 2; ++i) {
    const auto sealed = seal(dir.fd(), 0, kTestTrace);
    ASSERT_TRUE(sealed) << sealed.error().what;
    EXPECT_FALSE(dir.has("rank-0.open"));
    const auto found = read_content(dir.fd());
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_TRUE(*found == expected);
  }
}

TEST_P(TraceWriter, SlotsChangeInPlace) {
  Recorder recorder;
  recorder.attach(dir, plain());
  std::uint8_t* slot = recorder.writer.reserve(Kind::Poll, kPollBytes);
  put_fixed<std::uint64_t>(slot, 0);
  recorder.writer.commit(slot + kPollBytes);
  put_fixed<std::uint64_t>(slot, 77);
  recorder.writer.touched(slot, kPollBytes);
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found);
  ASSERT_EQ(found->records.size(), 1u);
  EXPECT_EQ(get_fixed<std::uint64_t>(found->records[0].payload.data()), 77u);
}

TEST_P(TraceWriter, SlotsStayWhereTheyAreWhenTheFileIsAttached) {
  Recorder recorder;
  std::uint8_t* slot = recorder.writer.reserve(Kind::Poll, kPollBytes);
  put_fixed<std::uint64_t>(slot, 0);
  recorder.writer.commit(slot + kPollBytes);
  recorder.attach(dir, plain());
  put_fixed<std::uint64_t>(slot, 77);
  recorder.writer.touched(slot, kPollBytes);
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found);
  EXPECT_EQ(get_fixed<std::uint64_t>(found->records[0].payload.data()), 77u);
}

TEST_P(TraceWriter, ChunksThatAreFullBeforeAttachAreKept) {
  Random random(5);
  Recorder recorder;
  recorder.random_records(100000, random);
  EXPECT_GT(recorder.writer.chunk_number(), 1u);
  recorder.attach(dir, plain());
  recorder.random_records(100, random);
  recorder.writer.finish({EndKind::Finalized, 0, false});
  Content expected = recorder.content();
  expected.end = {EndKind::Finalized, 0, false};
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_TRUE(*found == expected);
}

TEST_P(TraceWriter, AForkedChildDoesNotTouchTheTrace) {
  Random random(6);
  Recorder recorder;
  recorder.attach(dir, plain());
  recorder.random_records(100, random);
  const pid_t child = ::fork();
  if (child == 0) {
    recorder.writer.disown();
    recorder.random_records(60000, random);
    recorder.writer.finish({EndKind::Exited, 9, false});
    ::_exit(recorder.writer.attached() ? 1 : 0);
  }
  int status;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  recorder.random_records(100, random);
  recorder.writer.finish({EndKind::Finalized, 0, false});
  Content expected = recorder.content();
  expected.end = {EndKind::Finalized, 0, false};
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_TRUE(*found == expected);
}

TEST_P(TraceWriter, LoggingAfterFinishGoesNowhere) {
  Random random(8);
  Recorder recorder;
  recorder.attach(dir, plain());
  recorder.random_records(10, random);
  Content expected = recorder.content();
  expected.end = {EndKind::Finalized, 0, false};
  recorder.writer.finish({EndKind::Finalized, 0, false});
  recorder.random_records(60000, random);
  recorder.writer.finish({EndKind::Exited, 1, false});
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found);
  EXPECT_TRUE(*found == expected);
}

TEST_P(TraceWriter, ALogIsNeverOverwritten) {
  Recorder first;
  first.attach(dir, plain());
  first.hit(3);
  Recorder second;
  const auto again = second.writer.attach(dir.fd(), {kTestTrace, 0, 0}, {}, plain());
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().what.find("rank-0.log"), std::string::npos);
  Random random(1);
  second.random_records(60000, random);  // goes on without a file
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->events, 3u);
}

TEST_P(TraceWriter, TheProgramsDescriptorNumbersStayFree) {
  const int before = ::dup(0);
  ::close(before);
  Recorder recorder;
  recorder.attach(dir, plain());
  const int after = ::dup(0);
  ::close(after);
  EXPECT_EQ(before, after);
}

// A program may close every descriptor and get the same numbers for files of its own.
TEST_P(TraceWriter, AForeignFileUnderOurNumberIsNotWritten) {
  Random random(9);
  Recorder recorder;
  recorder.attach(dir, plain());
  recorder.random_records(100, random);
  const int foreign = ::open(dir.path("foreign").c_str(), O_RDWR | O_CREAT, 0600);
  for (int fd = 100; fd < 500; ++fd)
    if (::fcntl(fd, F_GETFD) >= 0) ::dup2(foreign, fd);
  recorder.random_records(60000, random);
  recorder.writer.finish({EndKind::Finalized, 0, false});
  EXPECT_EQ(std::filesystem::file_size(dir.path("foreign")), 0u);
  for (int fd = 100; fd < 500; ++fd) ::close(fd);
  ::close(foreign);
  const auto found = read_content(dir.fd());
  ASSERT_TRUE(found) << found.error().what;
  // Plain writes have lost their only way to the open file; a map still takes the reason.
  EXPECT_EQ(found->end.kind, plain() ? EndKind::Running : EndKind::Stopped);
  EXPECT_GE(found->records.size(), 80u);
}

TEST_P(TraceWriter, ATornLastBlockIsIgnoredIfTheOpenFileHoldsItsChunk) {
  Random random(10);
  Recorder recorder;
  recorder.attach(dir, plain());
  recorder.random_records(60000, random);
  ASSERT_GE(recorder.writer.chunk_number(), 1u);
  Content expected = recorder.content();
  const auto log = dir.read("rank-0.log");
  // What closing the open chunk would have written, torn at several places.
  TemporaryDirectory twin;
  std::filesystem::copy(dir.path("rank-0.log"), twin.path("rank-0.log"));
  std::filesystem::copy(dir.path("rank-0.open"), twin.path("rank-0.open"));
  ASSERT_TRUE(seal(twin.fd(), 0, kTestTrace));
  const auto whole = twin.read("rank-0.log");
  const auto open = dir.read("rank-0.open");
  const std::size_t end_block = kBlockHeaderSize + kEndPayloadSize;
  std::vector<std::size_t> sizes;
  for (std::size_t size = log.size(); size < whole.size(); size += 1 + random() % ((whole.size() - log.size()) / 8))
    sizes.push_back(size);
  for (const std::size_t back : {0u, 1u, 12u, 13u, 50u, 83u, 84u, 85u}) sizes.push_back(whole.size() - back);
  for (const std::size_t size : sizes) {
    twin.write("rank-0.log", {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    twin.write("rank-0.open", open);
    const auto found = read_content(twin.fd());
    ASSERT_TRUE(found) << size << ": " << found.error().what;
    ASSERT_TRUE(*found == expected) << size;
    const auto sealed = seal(twin.fd(), 0, kTestTrace);
    ASSERT_TRUE(sealed) << sealed.error().what;
    ASSERT_TRUE(twin.read("rank-0.log") == whole) << size;
  }
  // Without the open file it is damage, and the offset is where the log stops making sense.
  for (const std::size_t size :
       {log.size(), log.size() + 10, log.size() + 1000, whole.size() - end_block, whole.size() - 1}) {
    twin.write("rank-0.log", {whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)});
    const auto found = read_content(twin.fd());
    ASSERT_FALSE(found);
    const std::size_t offset = size < whole.size() - end_block ? log.size() : whole.size() - end_block;
    EXPECT_NE(found.error().what.find("rank-0.log: damaged at offset " + std::to_string(offset)), std::string::npos)
        << found.error().what;
  }
  // A damaged block in the middle is never taken for a torn one.
  auto broken = log;
  broken[kFileHeaderSize + 3] ^= 1;
  dir.write("rank-0.log", broken);
  EXPECT_FALSE(read_content(dir.fd()));
}

INSTANTIATE_TEST_SUITE_P(Modes, TraceWriter, testing::Bool(),
                         [](const auto& info) { return info.param ? "Plain" : "Mapped"; });

TEST(TraceReader, RefusesWhatItIsNotMeantToRead) {
  TemporaryDirectory dir;
  {
    Recorder recorder;
    recorder.attach(dir, false);
    recorder.hit(5);
    recorder.writer.finish({EndKind::Finalized, 0, false});
  }
  EXPECT_FALSE(RankReader::open(dir.fd(), 0, kTestTrace + 1));
  EXPECT_FALSE(RankReader::open(dir.fd(), 1, kTestTrace));

  std::filesystem::rename(dir.path("rank-0.log"), dir.path("elsewhere"));
  std::filesystem::create_symlink("elsewhere", dir.path("rank-0.log"));
  EXPECT_FALSE(RankReader::open(dir.fd(), 0, kTestTrace));
  std::filesystem::remove(dir.path("rank-0.log"));
  ASSERT_EQ(::mkfifo(dir.path("rank-0.log").c_str(), 0600), 0);
  EXPECT_FALSE(RankReader::open(dir.fd(), 0, kTestTrace));
}

TEST(TraceReader, ANewerFormatIsRefusedNamingBothVersions) {
  TemporaryDirectory dir;
  Recorder recorder;
  recorder.attach(dir, false);
  recorder.writer.finish({EndKind::Finalized, 0, false});
  auto log = dir.read("rank-0.log");
  put_fixed<std::uint32_t>(log.data() + 8, 42);
  put_fixed<std::uint32_t>(log.data() + 12, 41);
  put_fixed<std::uint64_t>(log.data() + 56, checksum({log.data(), 56}));
  dir.write("rank-0.log", log);
  const auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
  ASSERT_FALSE(reader);
  EXPECT_NE(reader.error().what.find("format 42"), std::string::npos) << reader.error().what;
  EXPECT_NE(reader.error().what.find("up to format " + std::to_string(kFormatVersion)), std::string::npos);
}

}  // namespace
}  // namespace reprise::trace
