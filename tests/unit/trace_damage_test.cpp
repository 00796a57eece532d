// Every byte of a small trace flipped in turn, and every truncation length.
#include "trace/manifest.hpp"
#include "trace_support.hpp"

namespace reprise::trace {
namespace {

Content make_trace(const TemporaryDirectory& dir, bool sealed) {
  Random random(31);
  Recorder recorder;
  recorder.attach(dir, false);
  recorder.random_records(60, random);
  recorder.hit(9);
  Content content = recorder.content();
  content.end = {EndKind::Exited, 4, false};
  if (sealed) {
    recorder.writer.finish(content.end);
  } else {
    recorder.writer.set_end(EndKind::Exited, 4);
  }
  return content;
}

// An error that names file and offset, or the same content.
void expect_refused_or_same(const TemporaryDirectory& dir, const Content& content) {
  const auto found = read_content(dir.fd());
  if (found) {
    EXPECT_TRUE(*found == content);
    return;
  }
  EXPECT_EQ(found.error().what.rfind("rank-0.", 0), 0u) << found.error().what;
  EXPECT_NE(found.error().what.find(": damaged at offset "), std::string::npos) << found.error().what;
}

TEST(TraceDamage, EveryFlippedByteOfASealedLog) {
  TemporaryDirectory dir;
  const Content content = make_trace(dir, true);
  const auto log = dir.read("rank-0.log");
  for (std::size_t at = 0; at < log.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xff}) {
      SCOPED_TRACE("byte " + std::to_string(at));
      dir.patch("rank-0.log", at, log[at] ^ static_cast<std::uint8_t>(mask));
      EXPECT_FALSE(read_content(dir.fd())) << "everything in a sealed log is covered by a checksum";
      expect_refused_or_same(dir, content);
    }
    dir.patch("rank-0.log", at, log[at]);
  }
  EXPECT_TRUE(read_content(dir.fd()));
}

TEST(TraceDamage, EveryTruncationOfASealedLog) {
  TemporaryDirectory dir;
  const Content content = make_trace(dir, true);
  const auto log = dir.read("rank-0.log");
  for (std::size_t size = log.size(); size-- > 0;) {
    dir.cut("rank-0.log", size);
    EXPECT_FALSE(read_content(dir.fd())) << size;
    EXPECT_FALSE(seal(dir.fd(), 0, kTestTrace)) << size;
    expect_refused_or_same(dir, content);
  }
  auto longer = log;
  longer.push_back(0);
  dir.write("rank-0.log", longer);
  EXPECT_FALSE(read_content(dir.fd()));
}

// The open chunk has no checksum; its content may differ, but it is read without a crash.
TEST(TraceDamage, EveryFlippedByteOfAnOpenFile) {
  TemporaryDirectory dir;
  make_trace(dir, false);
  const auto open = dir.read("rank-0.open");
  const std::size_t used = kRecordsOffset + 8192;
  for (std::size_t at = 0; at < used; ++at) {
    if (at > kLiveOffset + sizeof(LiveWords) && at < kRecordsOffset) continue;
    dir.patch("rank-0.open", at, open[at] ^ static_cast<std::uint8_t>(at % 3 == 0 ? 0xff : 1 << at % 8));
    const auto found = read_content(dir.fd());
    dir.patch("rank-0.open", at, open[at]);
    if (!found) {
      EXPECT_NE(found.error().what.find(": damaged at offset "), std::string::npos) << found.error().what;
    }
    if (at < kLiveOffset) {
      EXPECT_FALSE(found) << "byte " << at << " belongs to the file header, which has a checksum";
    }
  }
}

TEST(TraceDamage, EveryTruncationOfAnOpenFile) {
  TemporaryDirectory dir;
  const Content content = make_trace(dir, false);
  for (std::size_t size = kRecordsOffset + 8192; size-- > 0;) {
    dir.cut("rank-0.open", size);
    expect_refused_or_same(dir, content);
  }
}

// A count in the open chunk that no file can hold must not be counted up to.
TEST(TraceDamage, ACountBeyondAllBoundsEndsAtOnce) {
  TemporaryDirectory dir;
  Recorder recorder;
  recorder.attach(dir, false);
  std::uint8_t* out = recorder.writer.reserve(Kind::Indices, kMaxVarint);
  recorder.writer.commit(put_varint(out, UINT64_MAX));
  EXPECT_FALSE(read_content(dir.fd()));
  EXPECT_FALSE(seal(dir.fd(), 0, kTestTrace));
}

Manifest sample() {
  Manifest manifest;
  manifest.trace_id = 0xfedcba9876543210;
  manifest.reprise_version = "0.1.0";
  manifest.command = {"mpirun", "-n", "4", "./app", "tab\t\"quote\" \xc3\xa4", std::string("not utf-8: \xff\xfe")};
  manifest.working_directory = "/home/someone/work";
  manifest.mpi = "openmpi";
  manifest.mpi_library = "Open MPI v4.1.4";
  manifest.host = "node1";
  manifest.architecture = "aarch64";
  manifest.user = 1000;
  manifest.started = 1700000000;
  manifest.seconds = 1.25;
  manifest.ranks = 4;
  manifest.complete = true;
  manifest.exit_status = 137;
  manifest.ended = "SIGKILL of rank 2";
  return manifest;
}

TEST(TraceManifest, RoundTrip) {
  TemporaryDirectory dir;
  const Manifest manifest = sample();
  ASSERT_TRUE(write_manifest(dir.fd(), manifest));
  const auto found = read_manifest(dir.fd());
  ASSERT_TRUE(found) << found.error().what;
  EXPECT_EQ(found->trace_id, manifest.trace_id);
  EXPECT_EQ(found->command, manifest.command);
  EXPECT_EQ(found->working_directory, manifest.working_directory);
  EXPECT_EQ(found->started, manifest.started);
  EXPECT_EQ(found->seconds, manifest.seconds);
  EXPECT_EQ(found->ranks, manifest.ranks);
  EXPECT_EQ(found->complete, manifest.complete);
  EXPECT_EQ(found->exit_status, manifest.exit_status);
  EXPECT_EQ(found->ended, manifest.ended);
  EXPECT_EQ(manifest_digest(*found), manifest_digest(manifest));
  EXPECT_EQ(manifest_digest(manifest).size(), 32u);
  Manifest other = manifest;
  other.ranks = 5;
  EXPECT_NE(manifest_digest(other), manifest_digest(manifest));
  ASSERT_TRUE(write_manifest(dir.fd(), other));  // rewritten in place
  EXPECT_EQ(read_manifest(dir.fd())->ranks, 5u);
  EXPECT_FALSE(dir.has("manifest.json.tmp"));
}

TEST(TraceManifest, EveryFlippedByteAndEveryTruncation) {
  TemporaryDirectory dir;
  const Manifest manifest = sample();
  ASSERT_TRUE(write_manifest(dir.fd(), manifest));
  const std::string digest = manifest_digest(manifest);
  const auto bytes = dir.read("manifest.json");
  const auto check = [&](std::size_t at) {
    const auto found = read_manifest(dir.fd());
    if (found) {
      EXPECT_EQ(manifest_digest(*found), digest) << at;
    } else {
      EXPECT_EQ(found.error().what.rfind("manifest.json: ", 0), 0u) << found.error().what;
    }
  };
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (unsigned mask = 1; mask < 256; mask = mask * 2 + 1) {
      dir.patch("manifest.json", at, bytes[at] ^ static_cast<std::uint8_t>(mask));
      check(at);
    }
    dir.patch("manifest.json", at, bytes[at]);
  }
  for (std::size_t size = bytes.size(); size-- > 0;) {
    dir.cut("manifest.json", size);
    check(size);
  }
}

TEST(TraceManifest, BombsLinksAndNewerFormatsAreRefused) {
  TemporaryDirectory dir;
  const auto refused = [&](const std::string& text) {
    dir.write("manifest.json", {text.begin(), text.end()});
    const auto found = read_manifest(dir.fd());
    EXPECT_FALSE(found);
    return found ? std::string() : found.error().what;
  };
  refused(std::string(1 << 20, '['));
  refused("{\"command\":[" + std::string(1 << 20, '1') + "]}");
  refused("[]");
  refused("");
  refused("{\"format\": 1e999}");
  const std::string newer = refused("{\"format\": 12, \"format-readable-from\": 11}");
  EXPECT_NE(newer.find("format 12"), std::string::npos) << newer;
  EXPECT_NE(newer.find("up to format " + std::to_string(kFormatVersion)), std::string::npos) << newer;

  ASSERT_TRUE(write_manifest(dir.fd(), sample()));
  std::filesystem::rename(dir.path("manifest.json"), dir.path("elsewhere"));
  std::filesystem::create_symlink("elsewhere", dir.path("manifest.json"));
  EXPECT_FALSE(read_manifest(dir.fd()));
}

}  // namespace
}  // namespace reprise::trace
