#include "base/elf.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "base/process.hpp"

namespace reprise {
namespace {

std::string own_executable() { return executable_directory() + "/" + program_invocation_short_name; }

// A file in memory: the tests below write thousands.
class ElfFileTest : public testing::Test {
 protected:
  void SetUp() override {
    fd_.reset(::memfd_create("elf", MFD_CLOEXEC));
    ASSERT_TRUE(fd_);
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_.get()); }
  void write(const std::string& content) {
    ASSERT_EQ(::ftruncate(fd_.get(), 0), 0);
    ASSERT_EQ(::pwrite(fd_.get(), content.data(), content.size(), 0), static_cast<ssize_t>(content.size()));
  }

 private:
  UniqueFd fd_;
};

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Elf, KnowsItself) {
  const auto elf = read_elf(own_executable());
  ASSERT_TRUE(elf) << elf.error().what;
  EXPECT_TRUE(elf->dynamic);
  EXPECT_FALSE(elf->interpreter.empty());
  EXPECT_NE(std::find(elf->needed.begin(), elf->needed.end(), "libc.so.6"), elf->needed.end());
}

TEST(Elf, DefinedSymbolsAreThoseOfTheFileItself) {
  EXPECT_TRUE(elf_defines(own_executable(), "main"));
  EXPECT_FALSE(elf_defines(own_executable(), "MPI_Init"));
  EXPECT_FALSE(elf_defines(own_executable(), "getpid"));  // used, but libc's
  EXPECT_GT(::getpid(), 0);
}

TEST_F(ElfFileTest, OtherFilesAreRefused) {
  write("");
  EXPECT_FALSE(read_elf(path()));
  write("#!/bin/sh\n");
  EXPECT_FALSE(read_elf(path()));
  EXPECT_FALSE(read_elf("/tmp"));
  EXPECT_FALSE(read_elf("/dev/zero"));
}

TEST_F(ElfFileTest, DamagedFilesAreSurvived) {
  const std::string original = content_of("/proc/self/exe").substr(0, 8192);  // the headers, and what they point at
  for (std::size_t at = 0; at < 1024; ++at) {
    for (const unsigned char value : {0x00, 0x7f, 0xff}) {
      std::string damaged = original;
      damaged[at] = static_cast<char>(value);
      write(damaged);
      (void)read_elf(path());
      (void)elf_defines(path(), "main");
    }
  }
  for (std::size_t size = 0; size < original.size(); size += 7) {
    write(original.substr(0, size));
    (void)read_elf(path());
  }
}

TEST_F(ElfFileTest, HashIsOfTheContent) {
  write("");
  EXPECT_EQ(*file_hash(path()), "2d06800538d394c2");  // xxh3 of nothing
  write("a");
  const std::string one = *file_hash(path());
  write("b");
  EXPECT_NE(*file_hash(path()), one);
  EXPECT_FALSE(file_hash("/nonexistent"));
}

}  // namespace
}  // namespace reprise
