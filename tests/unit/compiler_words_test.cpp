// Which words of a compiler's command line are sources, and what is compiled by itself.
#include "cli/compiler_words.hpp"

#include <gtest/gtest.h>

namespace reprise::cli {
namespace {

using Words = std::vector<std::string>;

Words sources(const CompilerWords& words) {
  Words all;
  for (const std::size_t index : words.sources) all.push_back(words.all[index]);
  return all;
}

TEST(CompilerWords, SourcesObjectsAndOptions) {
  const CompilerWords words = understand({"-O2", "-I", "include.c", "a.c", "dir.x/b.F90", "c.o", "-o", "out.c", "-lm", "d.a"});
  EXPECT_EQ(sources(words), (Words{"a.c", "dir.x/b.F90"}));
  EXPECT_EQ(words.objects.size(), 2u);
  EXPECT_TRUE(words.links);
}

TEST(CompilerWords, NothingIsLinked) {
  EXPECT_FALSE(understand({"-c", "a.c"}).links);
  EXPECT_FALSE(understand({"-E", "a.c"}).links);
  EXPECT_FALSE(understand({"--version"}).links);
  EXPECT_FALSE(understand({"-v"}).links);
  EXPECT_TRUE(understand({"a.o"}).links);
}

TEST(CompilerWords, ALanguageMakesEveryFileASource) {
  EXPECT_EQ(sources(understand({"-x", "c", "-", "-o", "x"})), (Words{"-"}));
  EXPECT_EQ(sources(understand({"-xc++", "file.inc", "-x", "none", "b.o"})), (Words{"file.inc"}));
}

TEST(CompilerWords, FilesOfWords) {
  EXPECT_EQ(words_of_file(" -DX='a b'\n\"c d\".o e\\ f.c\t'' "), (Words{"-DX=a b", "c d.o", "e f.c", ""}));
  EXPECT_EQ(with_files_of_words({"@/no/such/file", "a.c"}), (Words{"@/no/such/file", "a.c"}));
}

TEST(CompilerWords, EachSourceIsCompiledByItself) {
  const CompilerWords words = understand({"-O2", "-DX", "-D", "Y=1", "a.c", "b.c", "c.o", "-L.", "-lown", "-Wl,-rpath,.", "-Xlinker", "-z", "-o", "app"});
  EXPECT_EQ(words_to_compile(words, words.sources[1], "t.o"), (Words{"-O2", "-DX", "-D", "Y=1", "b.c", "-L.", "-c", "-o", "t.o"}));
}

}  // namespace
}  // namespace reprise::cli
