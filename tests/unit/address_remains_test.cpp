#include "base/address_remains.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>

namespace reprise {
namespace {

TEST(AddressRemains, AnAddressOfThisProcessIsFound) {
  const auto heap = std::make_unique<int>(1);
  const std::array<std::uint64_t, 3> message{1, reinterpret_cast<std::uintptr_t>(heap.get()), 2};
  EXPECT_TRUE(AddressRemains().in(message.data(), sizeof message));
}

TEST(AddressRemains, TheEndsMayHaveBeenWrittenOver) {
  const AddressRemains remains({0x55ffb0850000});
  const std::uint64_t whole = 0x000055ffb085f70d;
  const std::uint64_t ends = 0x0e0055ffb085f70e;
  const std::uint64_t end_of_list = whole >> 12;
  const std::uint64_t link = 0x55ffb0851230 ^ 0x55ffb0859870 >> 12;
  for (const std::uint64_t word : {whole, ends, end_of_list, link}) EXPECT_TRUE(remains.in(&word, sizeof word)) << word;
}

TEST(AddressRemains, NumbersAreNotAddresses) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the thread sanitizer has memory where small numbers point";
#endif
  const AddressRemains remains;
  const std::array<double, 5> reals{0, 1, -1.5, 3.14159, 1e300};
  const std::array<std::int64_t, 5> integers{0, 1, -1, 1000000, 123456789};
  EXPECT_FALSE(remains.in(reals.data(), sizeof reals));
  EXPECT_FALSE(remains.in(integers.data(), sizeof integers));
}

}  // namespace
}  // namespace reprise
