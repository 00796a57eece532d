#include "analyze/note_fields.hpp"

#include <gtest/gtest.h>

#include "base/site_text.hpp"

namespace reprise::analyze {
namespace {

[[gnu::noinline]] std::uint64_t return_address() {
  return reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
}

TEST(NoteFields, AreReadOneByOne) {
  NoteFields fields("waits|17||-");
  EXPECT_EQ(fields.next(), "waits");
  EXPECT_EQ(fields.number(), 17u);
  EXPECT_EQ(fields.next(), "");
  EXPECT_EQ(fields.number(), 0u);
  EXPECT_EQ(fields.next(), "");
}

TEST(NoteFields, ASiteIsFoundAgain) {
  LoadedModule room;
  const std::string text = "MPI_Send|" + site_text(return_address(), room);
  NoteFields fields(text);
  EXPECT_EQ(fields.next(), "MPI_Send");
  SourceLines lines;
  const SourceLine* const line = fields.site(lines);
  ASSERT_TRUE(line);
  EXPECT_FALSE(line->changed);
  if (line->file.empty()) GTEST_SKIP() << "built without debug information";
  EXPECT_TRUE(line->file.ends_with("note_fields_test.cpp"));
}

TEST(NoteFields, APathMayContainTheSeparator) {
  NoteFields fields("4660||/nowhere/a|b");
  SourceLines lines;
  const SourceLine* const line = fields.site(lines);
  ASSERT_TRUE(line);
  EXPECT_EQ(line->text(), "a|b+0x1234");
}

TEST(NoteFields, ASiteMayBeUnknown) {
  LoadedModule room;
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{16}}) {
    EXPECT_EQ(site_text(address, room), "||");
    NoteFields fields("||");
    SourceLines lines;
    EXPECT_EQ(fields.site(lines), nullptr);
  }
}

}  // namespace
}  // namespace reprise::analyze
