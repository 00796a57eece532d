// What a recorder wrote, read back call by call.
#include "analyze/timeline.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/process.hpp"
#include "engine/recorder.hpp"

namespace reprise::analyze {
namespace {

using engine::Arguments;
using engine::Recorder;

enum : engine::FunctionId { kRecv, kIrecv, kSend, kTest, kWaitsome, kWtime };
constexpr const char* kNames[] = {"MPI_Recv", "MPI_Irecv", "MPI_Send", "MPI_Test", "MPI_Waitsome", "MPI_Wtime"};
constexpr std::uint8_t kFlags[] = {engine::kBlocking, 0, 0, 0, 0, 0};
constexpr std::uint64_t kTraceId = 77;

// Any addresses do as call sites; these lie in no module.
const void* site(std::uintptr_t number) { return reinterpret_cast<const void*>(number * 16 + 16); }

class TimelineTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_), nullptr);
    fd_.reset(::open(directory_, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    recorder_ = std::make_unique<Recorder>();
    ASSERT_TRUE(recorder_->begin({kNames, kFlags, std::size(kNames)}));
    const auto attached = recorder_->attach(fd_.get(), {kTraceId, 0, 0}, {{"ranks", "4"}, {"host", "here"}}, false);
    ASSERT_TRUE(attached) << attached.error().what;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Recorder& recorder() { return *recorder_; }
  void call(engine::FunctionId function, std::uintptr_t at, const Arguments& arguments) {
    recorder().call(function, site(at), arguments);
  }
  // All calls of the log, read to its end.
  std::vector<Call> read(std::vector<std::string>* names = nullptr) {
    auto timeline = Timeline::open(fd_.get(), 0, kTraceId);
    EXPECT_TRUE(timeline) << timeline.error().what;
    std::vector<Call> calls;
    if (!timeline) return calls;
    while (true) {
      auto next = timeline->next();
      EXPECT_TRUE(next) << next.error().what;
      if (!next || !*next) break;
      if (names) names->push_back(timeline->function_of(**next).name);
      calls.push_back(std::move(**next));
    }
    EXPECT_EQ(timeline->reader().total_events(), calls.size());
    return calls;
  }

 private:
  char directory_[64] = "/tmp/reprise-timeline-XXXXXX";
  UniqueFd fd_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(TimelineTest, CallsComeBackWithTheirArguments) {
  // A master that answers whoever asked: after a while everything is predicted, and must still be read right.
  std::vector<Arguments> expected;
  std::vector<std::uint32_t> sources;
  for (std::uint32_t i = 0; i < 5000; ++i) {
    const std::uint32_t source = 1 + (i * 7919 >> 3) % 3;
    expected.push_back({0, engine::kAnySource, engine::kAnyTag, 8});
    call(kRecv, 1, expected.back());
    recorder().resolve_blocking(recorder().wildcard(), trace::kSourceBase + source, 5);
    recorder().returned();
    sources.push_back(source);
    expected.push_back({0, source, i % 100 == 0 ? 1 : 0, 16});
    call(kSend, 2, expected.back());
    recorder().returned();
  }
  recorder().writer().finish({trace::EndKind::Finalized, 0, false});
  std::vector<std::string> names;
  const auto calls = read(&names);
  ASSERT_EQ(calls.size(), expected.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    ASSERT_EQ(calls[i].number, i);
    ASSERT_EQ(calls[i].arguments, expected[i]);
    ASSERT_EQ(names[i], i % 2 == 0 ? "MPI_Recv" : "MPI_Send");
    ASSERT_EQ(calls[i].wildcards.size(), i % 2 == 0 ? 1u : 0u);
    if (i % 2 != 0) continue;
    ASSERT_EQ(calls[i].wildcards[0].code, trace::kSourceBase + sources[i / 2]);
    ASSERT_EQ(calls[i].wildcards[0].tag, 5);
  }
}

TEST_F(TimelineTest, OutcomesBelongToTheirCalls) {
  call(kIrecv, 1, {0, engine::kAnySource, 3, 8});
  const auto slot = recorder().wildcard();
  recorder().returned();
  bool absorbed = false;
  for (int i = 0; i < 12; ++i) {
    auto& at = recorder().poll_begin(kTest, site(2), {}, absorbed);
    recorder().poll_end(at, absorbed, i == 11);
  }
  recorder().resolve(slot, trace::kSourceBase + 2, 3);
  call(kWaitsome, 3, {});
  const int list[] = {4, 0};
  recorder().indices(std::span<const int>(list), false);
  call(kWaitsome, 3, {});
  recorder().indices(std::span<const int>(), true);
  call(kWtime, 4, {});
  recorder().time(12.25);
  recorder().note("unsupported", "MPI_File_read_shared");
  call(kIrecv, 1, {0, engine::kAnySource, 3, 8});
  recorder().wildcard();
  // No finish(): the process was killed here, inside the call.
  const auto calls = read();
  ASSERT_EQ(calls.size(), 6u);
  ASSERT_EQ(calls[0].wildcards.size(), 1u);
  EXPECT_EQ(calls[0].wildcards[0].code, trace::kSourceBase + 2);
  ASSERT_TRUE(calls[1].poll);
  EXPECT_EQ(calls[1].poll->failures, 11u);
  EXPECT_TRUE(calls[1].poll->succeeded);
  EXPECT_EQ(calls[2].indices, (std::vector<std::uint32_t>{4, 0}));
  EXPECT_TRUE(calls[3].reports_indices);
  EXPECT_TRUE(calls[3].indices.empty());
  EXPECT_EQ(calls[4].time, 12.25);
  EXPECT_FALSE(calls[4].unfinished);
  EXPECT_EQ(calls[5].wildcards[0].code, trace::kPending);
  EXPECT_TRUE(calls[5].unfinished);
}

TEST_F(TimelineTest, LateOutcomesAreFound) {
  call(kIrecv, 1, {0, engine::kAnySource, 3, 8});
  const auto slot = recorder().wildcard();
  const std::uint64_t first_chunk = recorder().writer().chunk_number();
  for (int i = 0; recorder().writer().chunk_number() == first_chunk; ++i) {
    call(kWtime, 4, {});
    recorder().time(i * 1.5);
  }
  recorder().resolve(slot, trace::kSourceBase + 1, 9);
  call(kSend, 2, {0, 1, 2, 3});
  recorder().writer().finish({trace::EndKind::Exited, 1, false});
  const auto calls = read();
  ASSERT_GT(calls.size(), 1000u);
  EXPECT_EQ(calls[0].wildcards[0].code, trace::kSourceBase + 1);
  EXPECT_EQ(calls[0].wildcards[0].tag, 9);
  EXPECT_EQ(calls[1000].time, 999 * 1.5);
}

}  // namespace
}  // namespace reprise::analyze
