#include "base/text.hpp"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Text, ControlCharactersAreShownNotObeyed) {
  EXPECT_EQ(printable("plain text"), "plain text");
  EXPECT_EQ(printable("\033[31mred\n"), "\\x1b[31mred\\x0a");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // a C1 control
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\xe2\\x80\\xae"
            "b");  // right-to-left override
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");  // overlong
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(with_thousands(7), "7");
  EXPECT_EQ(with_thousands(1204), "1,204");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(counted(1, "rank"), "1 rank");
  EXPECT_EQ(counted(0, "rank"), "0 ranks");
  EXPECT_EQ(human_bytes(512), "512 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_bytes(18 * 1024), "18 KiB");
  EXPECT_EQ(human_bytes(UINT64_MAX), "16 EiB");
  EXPECT_EQ(number_ranges({}), "");
  EXPECT_EQ(number_ranges({3}), "3");
  EXPECT_EQ(number_ranges({0, 1, 4, 5, 6, 9}), "0, 1, 4-6, 9");
}

TEST(Text, NumbersFromText) {
  EXPECT_EQ(parse_number("17"), 17u);
  EXPECT_EQ(parse_number(""), std::nullopt);
  EXPECT_EQ(parse_number("17x"), std::nullopt);
  EXPECT_EQ(parse_number("-1"), std::nullopt);
  EXPECT_EQ(parse_number("99999999999999999999"), std::nullopt);
  EXPECT_EQ(parse_signed("-1"), -1);
  EXPECT_EQ(hex(0xabcu), "0000000000000abc");
  EXPECT_EQ(parse_hex(hex(UINT64_MAX)), UINT64_MAX);
}

TEST(Text, SplitKeepsEmptyParts) {
  EXPECT_EQ(split("a::b", ':'), (std::vector<std::string>{"a", "", "b"}));
  EXPECT_EQ(split("", ':'), (std::vector<std::string>{""}));
}

TEST(Text, CommandsCanBeTypedAgain) {
  EXPECT_EQ(shell_words({"mpirun", "-n", "4", "./app"}), "mpirun -n 4 ./app");
  EXPECT_EQ(shell_words({"a b", "it's", ""}), "'a b' 'it'\\''s' ''");
}

TEST(Text, NearestFindsTyposOnly) {
  const std::vector<std::string> commands = {"record", "replay", "show", "doctor"};
  EXPECT_EQ(nearest("recrod", commands), "record");
  EXPECT_EQ(nearest("repaly", commands), "replay");
  EXPECT_EQ(nearest("shwo", commands), "show");
  EXPECT_EQ(nearest("sho", commands), "show");
  EXPECT_EQ(nearest("banana", commands), "");
  EXPECT_EQ(nearest("--quite", {"--quiet", "--output"}), "--quiet");
}

}  // namespace
}  // namespace reprise
