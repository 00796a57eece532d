// Trace directories and the registry of own traces.
#include "cli/trace_dir.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "cli/registry.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {
namespace {

namespace fs = std::filesystem;

class TraceDirTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_), nullptr);
    before_ = fs::current_path();
    fs::current_path(directory_);
    ::setenv("XDG_STATE_HOME", (std::string(directory_) + "/state").c_str(), 1);
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(directory_);
  }

  static trace::Manifest manifest() {
    trace::Manifest manifest;
    manifest.trace_id = 0x1234;
    manifest.command = {"mpirun", "./app"};
    manifest.mpi = "openmpi";
    return manifest;
  }

 private:
  char directory_[64] = "/tmp/reprise-dir-XXXXXX";
  fs::path before_;
};

TEST_F(TraceDirTest, NumbersGoUpAndAreNeverReused) {
  EXPECT_EQ(make_trace_directory("", "app").path, "reprise.d/app-1");
  EXPECT_EQ(make_trace_directory("", "app").path, "reprise.d/app-2");
  fs::create_directory("reprise.d/app-17");
  EXPECT_EQ(make_trace_directory("", "app").path, "reprise.d/app-18");
  EXPECT_EQ(make_trace_directory("", "other").path, "reprise.d/other-1");
}

TEST_F(TraceDirTest, AChosenDirectoryMustBeEmpty) {
  fs::create_directory("empty");
  EXPECT_FALSE(make_trace_directory("empty", "app").in_home);
  EXPECT_TRUE(make_trace_directory("new", "app").created);
  std::ofstream("empty/file") << "x";
  EXPECT_THROW(make_trace_directory("empty", "app"), UserError);
  EXPECT_THROW(make_trace_directory("empty/file", "app"), UserError);
  EXPECT_THROW(make_trace_directory("no/such/parent", "app"), UserError);
}

TEST_F(TraceDirTest, TheLatestIsFound) {
  EXPECT_THROW(open_trace(""), UserError);
  for (int i = 0; i < 2; ++i) {
    const NewTrace trace = make_trace_directory("", "app");
    ASSERT_TRUE(trace::write_manifest(trace.fd.get(), manifest()));
    set_latest(trace);
  }
  for (const char* name : {"rank-0.log", "rank-10.log", "rank-2.log", "rank-2.open", "rank-01.log", "rank-x.log"})
    std::ofstream(std::string("reprise.d/app-2/") + name) << "";
  const OpenTrace trace = open_trace("");
  EXPECT_EQ(trace.path, "reprise.d/app-2");
  EXPECT_EQ(trace.manifest.trace_id, 0x1234u);
  EXPECT_EQ(trace.ranks, (std::vector<std::uint32_t>{0, 2, 10}));
  EXPECT_EQ(open_trace("reprise.d/app-1/").path, "reprise.d/app-1");
  EXPECT_THROW(open_trace("reprise.d"), UserError);
}

TEST_F(TraceDirTest, LatestLeadsNowhereElse) {
  fs::create_directory("reprise.d");
  fs::create_directory("elsewhere");
  fs::create_symlink("../elsewhere", "reprise.d/latest");
  EXPECT_THROW(open_trace(""), UserError);
  fs::remove("reprise.d/latest");
  fs::create_symlink("inner", "reprise.d/latest");
  fs::create_symlink("../elsewhere", "reprise.d/inner");
  EXPECT_THROW(open_trace(""), UserError);
}

TEST_F(TraceDirTest, NothingIsLeftOfADiscardedTrace) {
  {
    const NewTrace trace = make_trace_directory("", "app");
    ASSERT_TRUE(trace::write_manifest(trace.fd.get(), manifest()));
    discard(trace);
  }
  EXPECT_FALSE(fs::exists("reprise.d"));
}

TEST_F(TraceDirTest, OwnTracesAreKnown) {
  EXPECT_FALSE(is_own(manifest()));
  register_trace(manifest());
  EXPECT_TRUE(is_own(manifest()));
  trace::Manifest changed = manifest();
  changed.command = {"rm", "-rf", "."};
  EXPECT_FALSE(is_own(changed));
  changed = manifest();
  changed.trace_id = 1;
  EXPECT_FALSE(is_own(changed));
}

TEST_F(TraceDirTest, TheRegistryIsPruned) {
  register_trace(manifest());
  {
    std::ofstream out(registry_path(), std::ios::app);
    for (int i = 0; i < 12000; ++i) out << "0000000000000001 00\n";
  }
  trace::Manifest last = manifest();
  last.trace_id = 99;
  register_trace(last);
  EXPECT_TRUE(is_own(last));
  EXPECT_FALSE(is_own(manifest()));
  EXPECT_EQ(fs::file_size(registry_path()), 9999 * 20 + 17 + trace::manifest_digest(last).size() + 1);
}

}  // namespace
}  // namespace reprise::cli
