// What the tests of the trace layer share: a directory of their own, random records, and whole-log comparison.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "trace/chunk_writer.hpp"
#include "trace/rank_reader.hpp"
#include "trace/records.hpp"

namespace reprise::trace {

inline constexpr std::uint64_t kTestTrace = 0x0123456789abcdef;

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    // In memory where possible: thousands of small files and fsyncs, none of which needs a disk.
    const bool in_memory = std::getenv("TMPDIR") == nullptr && ::access("/dev/shm", W_OK | X_OK) == 0;
    const std::filesystem::path parent = in_memory ? "/dev/shm" : std::filesystem::temp_directory_path();
    std::string name = (parent / "reprise-trace-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    fd_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  ~TemporaryDirectory() {
    ::close(fd_);
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  int fd() const { return fd_; }
  std::filesystem::path path(const std::string& name = "") const { return path_ / name; }

  std::vector<std::uint8_t> read(const std::string& name) const {
    std::ifstream in(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }
  void write(const std::string& name, const std::vector<std::uint8_t>& bytes) const {
    std::ofstream out(path(name), std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  // One byte in place, and cutting off: far cheaper than writing the file anew for each of thousands of variants.
  void patch(const std::string& name, std::size_t at, std::uint8_t byte) const {
    const int fd = ::open(path(name).c_str(), O_WRONLY | O_CLOEXEC);
    EXPECT_EQ(::pwrite(fd, &byte, 1, static_cast<off_t>(at)), 1);
    ::close(fd);
  }
  void cut(const std::string& name, std::size_t size) const {
    EXPECT_EQ(::truncate(path(name).c_str(), static_cast<off_t>(size)), 0);
  }
  bool has(const std::string& name) const { return std::filesystem::exists(path(name)); }

 private:
  std::filesystem::path path_;
  int fd_ = -1;
};

// A seed that a failing test prints; REPRISE_TEST_SEED repeats it.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("REPRISE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 0) : std::random_device{}();
}

using Random = std::mt19937_64;

inline std::uint64_t any_width(Random& random) { return random() >> (random() % 64); }

// A random payload for a kind, as the engine would write it.
inline std::vector<std::uint8_t> random_payload(Kind kind, Random& random, std::size_t define_limit = 300) {
  std::vector<std::uint8_t> bytes(4096 + define_limit);
  std::uint8_t* out = bytes.data();
  switch (kind) {
    case Kind::Event: {
      const auto flags = static_cast<std::uint8_t>(random() % 32);
      *out++ = flags;
      for (unsigned bit = 0; bit <= kArguments; ++bit)
        if (flags >> bit & 1) out = put_varint(out, any_width(random));
      break;
    }
    case Kind::Wildcard:
      out = put_fixed(out, static_cast<std::uint32_t>(random() % 8 == 0 ? random() : random() % 6));
      out = put_fixed(out, static_cast<std::uint32_t>(random() % 8 == 0 ? random() : 7));
      break;
    case Kind::Poll: out = put_fixed<std::uint64_t>(out, any_width(random)); break;
    case Kind::Indices: {
      const std::uint64_t count = random() % 200 == 0 ? 300 : random() % 9;
      out = put_varint(out, count);
      for (std::uint64_t i = 1; i < count; ++i) out = put_varint(out, any_width(random));
      break;
    }
    case Kind::Time: out = put_varint(out, any_width(random)); break;
    case Kind::Late:
      out = put_varint(out, any_width(random));
      out = put_varint(out, random() & UINT32_MAX);
      out = put_signed(out, static_cast<std::int32_t>(random()));
      break;
    case Kind::Define: {
      const std::size_t size = random() % define_limit;
      out = put_varint(out, size);
      for (std::size_t i = 0; i < size; ++i) *out++ = static_cast<std::uint8_t>(random() % 3);
      break;
    }
    case Kind::Numbers: {
      const std::uint64_t count = random() % 4 == 0 ? random() % (kMaxNumbers + 1) : 1;
      out = put_varint(out, count);
      for (std::uint64_t i = count == 0 ? 0 : 1; i <= count; ++i) out = put_varint(out, any_width(random));
      break;
    }
    case Kind::Bytes: {
      const std::uint64_t count = random() % 100;
      out = put_varint(out, count);
      if (count == 0) out = put_varint(out, random() % 100);
      for (std::uint64_t i = 1; i < count; ++i) *out++ = static_cast<std::uint8_t>(random());
      break;
    }
    case Kind::Pause: break;
  }
  bytes.resize(static_cast<std::size_t>(out - bytes.data()));
  return bytes;
}

inline Kind random_kind(Random& random) {
  constexpr Kind kKinds[] = {Kind::Event,   Kind::Wildcard, Kind::Poll, Kind::Event,  Kind::Wildcard, Kind::Poll,
                             Kind::Indices, Kind::Time,     Kind::Late, Kind::Define, Kind::Pause,
                             Kind::Numbers, Kind::Bytes};
  return kKinds[random() % std::size(kKinds)];
}

// A record as it is found again: PAUSE records only move hits to where they end up, so they are folded away.
struct Found {
  Kind kind;
  std::uint64_t hits;
  std::vector<std::uint8_t> payload;
  bool operator==(const Found&) const = default;
};

struct Content {
  std::vector<Found> records;
  std::uint64_t tail_hits = 0;
  std::uint64_t events = 0;
  End end;

  void add(Kind kind, std::uint64_t hits, std::vector<std::uint8_t> payload) {
    events += hits + (kind == Kind::Event ? 1 : 0);
    tail_hits += hits;
    if (kind == Kind::Pause) return;
    records.push_back({kind, tail_hits, std::move(payload)});
    tail_hits = 0;
  }
  bool operator==(const Content& other) const {
    return records == other.records && tail_hits == other.tail_hits && events == other.events &&
           end.kind == other.end.kind && end.value == other.end.value && end.in_call == other.end.in_call;
  }
};

inline Result<Content> read_content(int dir_fd, std::uint32_t rank = 0) {
  auto reader = RankReader::open(dir_fd, rank, kTestTrace);
  if (!reader) return reader.error();
  Content content;
  for (;;) {
    const auto record = reader->next();
    if (!record) return record.error();
    if (!*record) break;
    content.add((*record)->kind, (*record)->hits, {(*record)->payload.begin(), (*record)->payload.end()});
  }
  content.end = reader->end();
  EXPECT_EQ(content.events, reader->total_events());
  return content;
}

// Logs through a ChunkWriter and remembers what must be found again.
class Recorder {
 public:
  Recorder() { EXPECT_TRUE(writer.begin_private()); }

  void hit(std::uint64_t count = 1) {
    for (std::uint64_t i = 0; i < count; ++i) writer.hit();
    hits_ += count;
  }
  void record(Kind kind, const std::vector<std::uint8_t>& payload) {
    std::uint8_t* out = writer.reserve(kind, payload.size());
    std::copy(payload.begin(), payload.end(), out);
    writer.commit(out + payload.size());
    expected.add(kind, hits_, payload);
    hits_ = 0;
  }
  void random_records(std::size_t count, Random& random) {
    for (std::size_t i = 0; i < count; ++i) {
      hit(random() % 16 == 0 ? random() % 40 : random() % 4);
      const Kind kind = random_kind(random);
      record(kind, random_payload(kind, random));
    }
  }
  Content content() const {
    Content all = expected;
    all.add(Kind::Pause, hits_, {});
    return all;
  }
  void attach(const TemporaryDirectory& dir, bool plain) {
    const auto done = writer.attach(dir.fd(), {kTestTrace, 0, 0}, {{"exe", "/bin/app"}, {"rank", "0"}}, plain);
    ASSERT_TRUE(done) << done.error().what;
  }

  ChunkWriter writer;
  Content expected;

 private:
  std::uint64_t hits_ = 0;
};

}  // namespace reprise::trace
