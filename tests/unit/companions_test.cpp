#include "virtual/companions.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

namespace reprise::virtual_world {
namespace {

using namespace std::chrono_literals;

// Two ranks that share a table, here as two objects of one process.
class CompanionsTest : public testing::Test {
 protected:
  CompanionsTest() {
    file_ = ::memfd_create("companions", 0);
    EXPECT_EQ(::ftruncate(file_, kSharedCounters * sizeof(SharedCounter)), 0);
    const std::string path = "/proc/self/fd/" + std::to_string(file_);
    one_.reset(*Companions::join(path.c_str(), {0, 1}));
    two_.reset(*Companions::join(path.c_str(), {1, 0}));
  }
  ~CompanionsTest() override { ::close(file_); }

  // Does this return only after `event` has happened?
  template <class Wait, class Event>
  static bool waits_for(Wait wait, Event event) {
    std::atomic<bool> happened{false};
    bool in_order = false;
    std::thread waiting([&] {
      wait();
      in_order = happened;
    });
    std::this_thread::sleep_for(50ms);
    happened = true;
    event();
    waiting.join();
    return in_order;
  }

  int file_ = -1;
  std::unique_ptr<Companions> one_;
  std::unique_ptr<Companions> two_;
};

TEST_F(CompanionsTest, AMessageIsReceivedAfterItWasSent) {
  const Channel channel{77, 0, 1, 5};
  const std::uint32_t number = two_->posts(channel);
  EXPECT_TRUE(waits_for([&] { two_->receives(channel, number); }, [&] { one_->sends(channel); }));
  two_->receives(channel, number);  // it was sent: no more waiting
}

TEST_F(CompanionsTest, TheSecondReceiveGetsTheSecondMessage) {
  const Channel channel{77, 0, 1, 5};
  const std::uint32_t first = two_->posts(channel);
  const std::uint32_t second = two_->posts(channel);
  one_->sends(channel);
  two_->receives(channel, first);
  EXPECT_TRUE(waits_for([&] { two_->receives(channel, second); }, [&] { one_->sends(channel); }));
}

TEST_F(CompanionsTest, ChannelsAreCountedApart) {
  const Channel channel{77, 0, 1, 5};
  one_->sends({77, 0, 1, 6});  // another tag
  one_->sends({78, 0, 1, 5});  // another communicator
  one_->sends({77, 0, 0, 5});  // to somebody else
  two_->sends({77, 1, 1, 5});  // from somebody else
  EXPECT_TRUE(waits_for([&] { two_->receives(channel, two_->posts(channel)); }, [&] { one_->sends(channel); }));
}

TEST_F(CompanionsTest, AProbeSeesTheFirstThatNobodyTakes) {
  const Channel channel{77, 0, 1, 5};
  EXPECT_EQ(two_->next(channel), 1U);
  EXPECT_EQ(two_->posts(channel), 1U);
  EXPECT_EQ(two_->next(channel), 2U);
  EXPECT_EQ(two_->next(channel), 2U);
}

TEST_F(CompanionsTest, WhoIsNotReplayedIsNotWaitedFor) {
  const Channel channel{77, 9, 1, 5};
  two_->receives(channel, 1);
  two_->awaits(77, 9, 1);
}

TEST_F(CompanionsTest, ACollectiveEndsAfterOthersHaveBegunIt) {
  const std::uint32_t number = two_->enters(77, 1);
  EXPECT_EQ(number, 1U);
  EXPECT_TRUE(waits_for([&] { two_->awaits(77, 0, number); }, [&] { one_->enters(77, 0); }));
  EXPECT_EQ(two_->enters(77, 1), 2U);
  EXPECT_EQ(two_->enters(78, 1), 1U);
}

TEST(Companions, WithoutItsFileThereIsAReason) {
  const auto joined = Companions::join("/nowhere/at/all", {0, 1});
  ASSERT_FALSE(joined);
  EXPECT_NE(joined.error().what.find("order of ranks"), std::string::npos);
}

}  // namespace
}  // namespace reprise::virtual_world
