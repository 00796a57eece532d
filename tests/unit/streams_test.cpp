// Logs that were never begun: their process was killed while it made the files.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "trace/blocks.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::trace {
namespace {

class Streams : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/reprise-streams-XXXXXX";
    directory_ = ::mkdtemp(name);
    fd_ = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  void TearDown() override {
    ::close(fd_);
    std::filesystem::remove_all(directory_);
  }
  void put(FileKind kind, const std::string& content) const {
    std::ofstream(directory_ / file_name(kind, {0, 3, 2}).data(), std::ios::binary) << content;
  }

  std::filesystem::path directory_;
  int fd_ = -1;
};

TEST_F(Streams, ALogWithoutItsHeadersWasNeverBegun) {
  const std::string header(kFileHeaderSize, 'x');
  put(FileKind::Log, "");
  EXPECT_TRUE(never_begun(fd_, 3, 2));
  EXPECT_FALSE(RankReader::open(fd_, 3, 7, 2));
  put(FileKind::Log, header);
  EXPECT_TRUE(never_begun(fd_, 3, 2)) << "there is no open chunk yet";
  put(FileKind::Open, "");
  EXPECT_TRUE(never_begun(fd_, 3, 2));
  put(FileKind::Open, std::string(kOpenFileSize, '\0'));
  EXPECT_TRUE(never_begun(fd_, 3, 2));
  put(FileKind::Open, header + std::string(kOpenFileSize, '\0'));
  EXPECT_FALSE(never_begun(fd_, 3, 2)) << "that is damage, and not to be passed over";
}

}  // namespace
}  // namespace reprise::trace
