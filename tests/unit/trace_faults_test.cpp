// What a rank leaves behind when it is killed at any moment, and when the disk is full.
#include <csignal>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <time.h>

#include "trace_support.hpp"

namespace reprise::trace {
namespace {

class TraceFaults : public testing::TestWithParam<bool> {
 protected:
  bool plain() const { return GetParam(); }
};

// Numbered TIME records and hits; `done` counts what was committed, from the child's point of view.
[[noreturn]] void log_for_ever(const TemporaryDirectory& dir, bool plain, volatile std::uint64_t* done) {
  ChunkWriter writer;
  if (!writer.begin_private() || !writer.attach(dir.fd(), {kTestTrace, 0, 0}, {}, plain)) ::_exit(1);
  for (std::uint64_t i = 1;; ++i) {
    for (std::uint64_t k = 0; k < i % 3; ++k) writer.hit();
    std::uint8_t* out = writer.reserve(Kind::Time, 2 * kMaxVarint);
    writer.commit(put_varint(out, i * 0x9e3779b97f4a7c15u));
    *done = i;
  }
}

TEST_P(TraceFaults, SigkillLosesNothingThatWasCommitted) {
  const std::uint64_t seed = test_seed();
  SCOPED_TRACE("REPRISE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  auto* done =
      static_cast<std::uint64_t*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  std::uint64_t most_chunks = 0;
  // Some rounds must be long enough to close a chunk, however slow the build (sanitizers) or the machine is.
  const auto rounds = [&] { return plain() || most_chunks > 0 ? 30 : 40; };
  for (int round = 0; round < rounds(); ++round) {
    TemporaryDirectory dir;
    *done = 0;
    const pid_t child = ::fork();
    if (child == 0) log_for_ever(dir, plain(), done);
    while (*static_cast<volatile std::uint64_t*>(done) == 0 && ::waitpid(child, nullptr, WNOHANG) == 0) {}
    const timespec pause{0, static_cast<long>(random() % (round < 30 ? 40'000'000 : 990'000'000))};
    ::nanosleep(&pause, nullptr);
    ::kill(child, SIGKILL);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    ASSERT_GT(*done, 0u);

    for (const bool sealed : {false, true}) {
      if (sealed) {
        const auto result = seal(dir.fd(), 0, kTestTrace);
        ASSERT_TRUE(result) << result.error().what;
        most_chunks = std::max(most_chunks, std::uint64_t{std::filesystem::file_size(dir.path("rank-0.log"))} >> 20);
      }
      auto reader = RankReader::open(dir.fd(), 0, kTestTrace);
      ASSERT_TRUE(reader) << reader.error().what;
      EXPECT_EQ(reader->end().kind, EndKind::Running);
      std::uint64_t number = 0;
      std::uint64_t hits = 0;
      for (;;) {
        const auto record = reader->next();
        ASSERT_TRUE(record) << record.error().what;
        if (!*record) break;
        hits += (*record)->hits;
        if ((*record)->kind == Kind::Pause) continue;
        ++number;
        ASSERT_EQ(hits, number % 3);
        hits = 0;
        ByteReader in((*record)->payload);
        ASSERT_EQ(in.varint(), number * 0x9e3779b97f4a7c15u);
      }
      // The kill may have come between a commit and the child's own count of it.
      EXPECT_GE(number, *done);
      EXPECT_LE(number, *done + 1);
      EXPECT_LE(hits, 2u);
    }
  }
  EXPECT_TRUE(plain() || most_chunks > 0) << "no round was long enough to close a chunk";
  ::munmap(done, 4096);
}

// Logs until it stops, then goes on; returns what must be found.
Content log_until_stopped(Recorder& recorder, const TemporaryDirectory& dir, bool plain) {
  Random random(21);
  recorder.attach(dir, plain);
  for (int i = 0; i < 2'000'000 && !recorder.writer.stopped(); ++i) {
    std::vector<std::uint8_t> payload(2 * kMaxVarint);
    payload.resize(static_cast<std::size_t>(put_varint(payload.data(), random()) - payload.data()));
    recorder.record(Kind::Time, payload);
  }
  EXPECT_TRUE(recorder.writer.stopped());
  // The record that did not fit into the full chunk is the first that is lost.
  recorder.expected.records.pop_back();
  const Content expected = recorder.content();
  recorder.random_records(60000, random);
  return expected;
}

void expect_stopped(const TemporaryDirectory& dir, const Content& logged, int error) {
  Content expected = logged;
  expected.end = {EndKind::Stopped, error, false};
  for (const bool sealed : {false, true}) {
    if (sealed) {
      const auto result = seal(dir.fd(), 0, kTestTrace);
      ASSERT_TRUE(result) << result.error().what;
    }
    const auto found = read_content(dir.fd());
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_EQ(found->records.size(), expected.records.size());
    EXPECT_TRUE(*found == expected);
  }
}

TEST_P(TraceFaults, AFullDiskStopsTheRecordingAtAChunk) {
  TemporaryDirectory dir;
  if (::mount("none", dir.path().c_str(), "tmpfs", 0, "size=4m") != 0)
    GTEST_SKIP() << "a tmpfs cannot be mounted here (" << std::strerror(errno) << ")";
  const int fd = ::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY);
  ::dup2(fd, dir.fd());
  ::close(fd);
  {
    Recorder recorder;
    const Content expected = log_until_stopped(recorder, dir, plain());
    recorder.writer.finish({EndKind::Finalized, 0, false});
    EXPECT_TRUE(dir.has("rank-0.open"));
    EXPECT_FALSE(seal(dir.fd(), 0, kTestTrace)) << "there is no room to seal either";
    const auto found = read_content(dir.fd());
    ASSERT_TRUE(found) << found.error().what;
    ASSERT_EQ(::mount("none", dir.path().c_str(), "tmpfs", MS_REMOUNT, "size=16m"), 0);
    expect_stopped(dir, expected, ENOSPC);
  }
  ::umount2(dir.path().c_str(), MNT_DETACH);
}

// SIGXFSZ keeps its default action here: the writer must not raise it.
TEST_P(TraceFaults, AFileSizeLimitStopsTheRecordingWithoutASignal) {
  TemporaryDirectory dir;
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit low { 2u << 20, old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  Recorder recorder;
  const Content expected = log_until_stopped(recorder, dir, plain());
  recorder.writer.finish({EndKind::Finalized, 0, false});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  expect_stopped(dir, expected, EFBIG);
}

// The open file begins small and cannot grow to its full size: chunks are smaller, and nothing else changes.
TEST_P(TraceFaults, LittleRoomMakesSmallChunks) {
  if (plain()) GTEST_SKIP() << "without a map all of it is reserved at the start";
  TemporaryDirectory dir;
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit low { 400'000, old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  Recorder recorder;
  const Content expected = log_until_stopped(recorder, dir, plain());
  recorder.writer.finish({EndKind::Finalized, 0, false});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_GT(std::filesystem::file_size(dir.path("rank-0.log")), 200'000u);
  expect_stopped(dir, expected, EFBIG);
}

TEST_P(TraceFaults, NoRoomForTheOpenFileIsAnErrorAtTheStart) {
  TemporaryDirectory dir;
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit low { 1u << 15, old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  Recorder recorder;
  const auto attached = recorder.writer.attach(dir.fd(), {kTestTrace, 0, 0}, {}, plain());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  ASSERT_FALSE(attached);
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  Random random(1);
  recorder.random_records(60000, random);
}

// What finish() cannot append stays in the open file, with the end it was given.
TEST_P(TraceFaults, FinishWithoutRoomKeepsTheOpenFile) {
  TemporaryDirectory dir;
  Random random(22);
  Recorder recorder;
  recorder.attach(dir, plain());
  while (recorder.writer.chunk_number() == 0) {
    std::vector<std::uint8_t> noise(100000);
    for (auto& byte : noise) byte = static_cast<std::uint8_t>(random());
    put_varint(noise.data(), noise.size() - 3);
    recorder.record(Kind::Define, noise);
  }
  recorder.random_records(50, random);
  Content expected = recorder.content();
  expected.end = {EndKind::Finalized, 0, false};
  // The log may not grow by a byte; the open file is still far below the limit.
  struct rlimit old;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const struct rlimit low { std::filesystem::file_size(dir.path("rank-0.log")), old.rlim_max };
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  recorder.writer.finish({EndKind::Finalized, 0, false});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  EXPECT_TRUE(dir.has("rank-0.open"));
  for (const bool sealed : {false, true}) {
    ASSERT_TRUE(!sealed || seal(dir.fd(), 0, kTestTrace));
    const auto found = read_content(dir.fd());
    ASSERT_TRUE(found) << found.error().what;
    EXPECT_TRUE(*found == expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, TraceFaults, testing::Bool(),
                         [](const auto& info) { return info.param ? "Plain" : "Mapped"; });

}  // namespace
}  // namespace reprise::trace
