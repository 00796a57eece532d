#include "analyze/source_lines.hpp"

#include <errno.h>
#include <gtest/gtest.h>
#include <link.h>

#include "base/elf.hpp"
#include "base/process.hpp"

namespace reprise::analyze {
namespace {

std::uint64_t return_offset = 0;

std::uintptr_t own_bias() {
  std::uintptr_t bias = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
        return 1;  // the program itself comes first
      },
      &bias);
  return bias;
}

[[gnu::noinline]] void called() {
  return_offset = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - own_bias();
}

[[gnu::noinline]] int caller() {
  const int line = __LINE__ + 1;
  called();
  return line + (return_offset == 0);  // keeps the call from being the last thing
}

std::string own_executable() { return executable_directory() + "/" + program_invocation_short_name; }

TEST(SourceLines, FindsTheCallersLine) {
  const int line = caller();
  SourceLines lines;
  const SourceLine& found = lines.find(own_executable(), read_elf(own_executable())->build_id, return_offset);
  if (found.file.empty()) GTEST_SKIP() << "built without debug information";
  EXPECT_EQ(found.line, line);
  EXPECT_TRUE(found.file.ends_with("source_lines_test.cpp"));
  EXPECT_NE(found.function.find("caller"), std::string::npos);
  EXPECT_FALSE(found.changed);
}

TEST(SourceLines, AChangedFileGetsNoLines) {
  caller();
  SourceLines lines;
  const SourceLine& found = lines.find(own_executable(), "0123", return_offset);
  EXPECT_TRUE(found.changed);
  EXPECT_TRUE(found.file.empty());
  EXPECT_NE(found.text().find("(file has changed)"), std::string::npos);
}

TEST(SourceLines, FilesThatAreNotThere) {
  SourceLines lines;
  EXPECT_EQ(lines.find("/nowhere/app", "", 0x1234).text(), "app+0x1234");
  EXPECT_EQ(lines.find("", "", 0).text(), "unknown place");
  EXPECT_EQ(lines.find("/dev/zero", "", 1).text(), "zero+0x1");
  EXPECT_EQ(lines.find(own_executable(), "", UINT64_MAX).file, "");
}

}  // namespace
}  // namespace reprise::analyze
