#include <gtest/gtest.h>

extern "C" int names_1063_work(void);

TEST(Names, OfVersion1063Work) { EXPECT_EQ(names_1063_work(), 0); }
