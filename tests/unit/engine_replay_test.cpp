// A random program recorded by the Recorder and obeyed by the Replayer: every outcome comes back at the same call, and
// a program that does anything else is noticed at exactly that call.
#include <gtest/gtest.h>

#include "engine/recorder.hpp"
#include "engine/replayer.hpp"
#include "trace_support.hpp"

namespace reprise::engine {
namespace {

using trace::kTestTrace;
using trace::Random;
using trace::TemporaryDirectory;
using Fit = Replayer::Fit;

enum : FunctionId { kRecv, kIrecv, kSend, kTest, kIprobe, kWaitsome, kWtime, kClock, kRandom };
constexpr const char* kNames[] = {"MPI_Recv",     "MPI_Irecv", "MPI_Send",      "MPI_Test", "MPI_Iprobe",
                                  "MPI_Waitsome", "MPI_Wtime", "clock_gettime", "getrandom"};
constexpr std::uint8_t kFlags[] = {kBlocking, 0, 0, 0, 0, 0, 0, 0, 0};
constexpr FunctionTable kTable{kNames, kFlags, std::size(kNames), kClock};

// Call sites that lie in a module, so that the replayer finds them by module and offset.
const void* site(unsigned number) { return reinterpret_cast<const char*>(&kNames) + number; }

// One step of the program and what came of it.
struct Step {
  FunctionId function;
  unsigned at;
  Arguments arguments{};
  std::uint32_t code = 0;
  std::int32_t tag = 0;
  bool success = false;
  std::vector<int> indices;
  double time = 0;
  std::vector<std::int64_t> numbers;
  std::vector<std::uint8_t> bytes;
  int error = 0;
};

Step one_send() {
  Step step{};
  step.function = kSend;
  step.at = 2;
  step.arguments = {0, 1, 1, 8};
  return step;
}

std::vector<Step> random_program(Random& random, std::size_t length) {
  std::vector<Step> program;
  std::int64_t source = 0;
  while (program.size() < length) {
    Step step{};
    step.function = static_cast<FunctionId>(random() % std::size(kNames));
    step.at = static_cast<unsigned>(step.function + 16 * (random() % 2));
    switch (step.function) {
      case kRecv:
      case kIrecv:
        step.arguments = {static_cast<std::int64_t>(random() % 2), kAnySource, kAnyTag, 8};
        source = static_cast<std::int64_t>(random() % 3);
        step.code = trace::kSourceBase + static_cast<std::uint32_t>(source);
        step.tag = static_cast<std::int32_t>(random() % 5);
        break;
      case kSend: step.arguments = {0, random() % 4 ? source : static_cast<std::int64_t>(random() % 9), 1, 8}; break;
      case kTest: step.success = random() % 8 == 0; break;
      case kIprobe:
        step.success = random() % 4 == 0;
        step.code = trace::kSourceBase + static_cast<std::uint32_t>(random() % 3);
        step.tag = static_cast<std::int32_t>(random() % 5);
        break;
      case kWaitsome:
        for (unsigned i = 0; i < 1 + random() % 3; ++i) step.indices.push_back(static_cast<int>(random() % 100));
        break;
      case kClock:
        step.arguments[kTag] = static_cast<std::int64_t>(random() % 3);
        step.error = random() % 10 == 0 ? 22 : 0;
        if (step.error == 0) step.numbers.resize(1 + random() % 3);
        for (auto& number : step.numbers) number = static_cast<std::int64_t>(random());
        break;
      case kRandom:
        step.error = random() % 10 == 0 ? 4 : 0;
        if (step.error == 0) step.bytes.resize(random() % 5000 == 0 ? 3 * trace::kMaxByteString : random() % 20);
        for (auto& byte : step.bytes) byte = static_cast<std::uint8_t>(random());
        step.arguments[kBytes] = static_cast<std::int64_t>(step.bytes.size()) + 4;
        break;
      default: step.time = static_cast<double>(random() % 1'000'000) / 7;
    }
    program.push_back(step);
  }
  return program;
}

void record(Recorder& recorder, const std::vector<Step>& program) {
  std::vector<std::pair<WildcardSlot, const Step*>> posted;
  for (const Step& step : program) {
    if (step.function == kTest || step.function == kIprobe) {
      bool absorbed = false;
      Site& at = recorder.poll_begin(step.function, site(step.at), step.arguments, absorbed);
      recorder.poll_end(at, absorbed, step.success);
      if (step.function == kIprobe && step.success) recorder.shown(step.code, step.tag);
      recorder.returned();
      continue;
    }
    if (step.function >= kClock) {
      recorder.event(step.function, site(step.at), step.arguments);
      if (step.error != 0) recorder.failure(step.function == kClock ? trace::Kind::Numbers : trace::Kind::Bytes, step.error);
      else if (step.function == kClock) recorder.numbers(step.numbers);
      else recorder.bytes(step.bytes);
      continue;
    }
    recorder.call(step.function, site(step.at), step.arguments);
    if (step.function == kRecv) recorder.resolve_blocking(recorder.wildcard(), step.code, step.tag);
    if (step.function == kIrecv) posted.emplace_back(recorder.wildcard(), &step);
    if (step.function == kWaitsome) recorder.indices(std::span<const int>(step.indices), false);
    if (step.function == kWtime) recorder.time(step.time);
    recorder.returned();
    if (posted.size() > 20) {  // long after, and in another order than they were posted
      recorder.resolve(posted[7].first, posted[7].second->code, posted[7].second->tag);
      posted.erase(posted.begin() + 7);
    }
  }
  for (const auto& [slot, step] : posted) recorder.resolve(slot, step->code, step->tag);
  recorder.writer().finish({trace::EndKind::Finalized, 0, false});
}

// The number of steps that followed the log.
std::size_t replay(Replayer& replayer, const std::vector<Step>& program) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Step& step = program[i];
    if (step.function == kTest || step.function == kIprobe) {
      bool success = false;
      if (replayer.poll(step.function, site(step.at), step.arguments, success) != Fit::Follows || success != step.success) return i;
      WildcardOutcome shown{step.code, step.tag};
      if (step.function == kIprobe && success && replayer.wildcard(shown) != Fit::Follows) return i;
      if (shown.code != step.code || shown.tag != step.tag) return i;
      continue;
    }
    if (replayer.call(step.function, site(step.at), step.arguments) != Fit::Follows) return i;
    if (step.function == kRecv || step.function == kIrecv) {
      WildcardOutcome outcome;
      if (replayer.wildcard(outcome) != Fit::Follows || outcome.code != step.code || outcome.tag != step.tag) return i;
    }
    if (step.function == kWaitsome) {
      std::vector<std::uint32_t> indices;
      bool undefined = true;
      if (replayer.indices(indices, undefined) != Fit::Follows || undefined) return i;
      if (!std::equal(indices.begin(), indices.end(), step.indices.begin(), step.indices.end())) return i;
    }
    if (step.function == kWtime) {
      double value = -1;
      if (replayer.time(value) != Fit::Follows || value != step.time) return i;
    }
    if (step.function == kClock) {
      std::vector<std::int64_t> numbers(step.numbers.size());
      int error = -1;
      if (replayer.numbers(numbers, error) != Fit::Follows || error != step.error || numbers != step.numbers) return i;
    }
    if (step.function == kRandom) {
      std::vector<std::uint8_t> room(static_cast<std::size_t>(step.arguments[kBytes]));
      std::size_t size = 0;
      int error = -1;
      if (replayer.bytes(room, size, error) != Fit::Follows || error != step.error) return i;
      room.resize(size);
      if (room != step.bytes) return i;
    }
  }
  return program.size();
}

class EngineReplay : public testing::Test {
 protected:
  std::unique_ptr<Replayer> recorded(const std::vector<Step>& program) {
    directory_ = std::make_unique<TemporaryDirectory>();
    auto recorder = std::make_unique<Recorder>();
    EXPECT_TRUE(recorder->begin(kTable));
    EXPECT_TRUE(recorder->attach(directory_->fd(), {kTestTrace, 0, 0}, {}, false));
    record(*recorder, program);
    return open();
  }
  std::unique_ptr<Replayer> open() {
    auto reader = trace::RankReader::open(directory_->fd(), 0, kTestTrace);
    EXPECT_TRUE(reader) << reader.error().what;
    return std::make_unique<Replayer>(CallStream(std::move(*reader)), kTable);
  }

 private:
  std::unique_ptr<TemporaryDirectory> directory_;
};

TEST_F(EngineReplay, EveryOutcomeComesBack) {
  const std::uint64_t seed = trace::test_seed();
  SCOPED_TRACE("REPRISE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  for (const std::size_t length : {10u, 1000u, 400000u}) {  // the last fills several chunks
    const auto program = random_program(random, length);
    const auto replayer = recorded(program);
    EXPECT_EQ(replay(*replayer, program), program.size());
    EXPECT_EQ(replayer->end_of_program(), Fit::Follows);
  }
}

TEST_F(EngineReplay, TheFirstDifferenceIsNoticedWhereItIs) {
  const std::uint64_t seed = trace::test_seed();
  SCOPED_TRACE("REPRISE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  const auto program = random_program(random, 300);
  recorded(program);
  for (std::size_t i = 0; i < program.size(); ++i) {
    if (program[i].function == kTest || program[i].function == kIprobe) continue;  // a test that is absorbed into a series may come from anywhere
    auto other = program;
    other[i].arguments[kBytes] += 1;
    auto replayer = open();
    EXPECT_EQ(replay(*replayer, other), i);
    EXPECT_EQ(replayer->report().reason, "the call has other arguments");
    other = program;
    other[i].at += 100;
    replayer = open();
    EXPECT_EQ(replay(*replayer, other), i);
    EXPECT_EQ(replayer->report().recorded.function, kNames[program[i].function]);
  }
}

// A process that did not know its rank in time takes up the log behind the reads that it could not be answered.
TEST_F(EngineReplay, ReadsCanBePassedOver) {
  const std::uint64_t seed = trace::test_seed();
  SCOPED_TRACE("REPRISE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  std::vector<Step> reads = random_program(random, 400);
  std::erase_if(reads, [](const Step& step) { return step.function < kClock; });
  std::vector<Step> program = reads;
  program.push_back(one_send());
  const auto rest = random_program(random, 400);
  program.insert(program.end(), rest.begin(), rest.end());
  const auto replayer = recorded(program);
  const Step send = one_send();
  std::uint64_t passed = 0;
  EXPECT_EQ(replayer->call_past_reads(send.function, site(send.at), send.arguments, passed), Fit::Follows);
  EXPECT_EQ(passed, reads.size());
  EXPECT_EQ(replay(*replayer, rest), rest.size());
  EXPECT_EQ(replayer->end_of_program(), Fit::Follows);
}

TEST_F(EngineReplay, AProgramThatEndsEarlyOrGoesOnIsNoticed) {
  Random random(1);
  auto program = random_program(random, 50);
  program.push_back(one_send());
  auto replayer = recorded(program);
  auto shorter = program;
  shorter.pop_back();
  EXPECT_EQ(replay(*replayer, shorter), shorter.size());
  EXPECT_EQ(replayer->end_of_program(), Fit::Differs);
  EXPECT_EQ(replayer->report().recorded.function, "MPI_Send");
  auto longer = program;
  longer.push_back(one_send());
  replayer = open();
  EXPECT_EQ(replay(*replayer, longer), program.size());
  EXPECT_EQ(replayer->report().reason, "the recorded run made no further call");
}

class NamedEvents : public testing::Test {
 protected:
  void SetUp() override {
    Recorder recorder;
    ASSERT_TRUE(recorder.begin(kTable));
    ASSERT_TRUE(recorder.attach(dir.fd(), {kTestTrace, 0, 0}, {}, false));
    for (int i = 0; i < 100; ++i) {
      recorder.named_event("step", site(20));
      if (i % 10 == 0) recorder.named_event("output", site(21));
      recorder.call(kSend, site(2), {0, 1, 1, 8});
      recorder.returned();
    }
    recorder.named_event(nullptr, site(22));
    recorder.writer().finish({trace::EndKind::Finalized, 0, false});
    auto reader = trace::RankReader::open(dir.fd(), 0, kTestTrace);
    ASSERT_TRUE(reader) << reader.error().what;
    replayer = std::make_unique<Replayer>(CallStream(std::move(*reader)), kTable);
  }
  TemporaryDirectory dir;
  std::unique_ptr<Replayer> replayer;
};

TEST_F(NamedEvents, TheSameEventsFollow) {
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(replayer->named_event("step", site(20)), Fit::Follows);
    if (i % 10 == 0) {
      ASSERT_EQ(replayer->named_event("output", site(21)), Fit::Follows);
    }
    ASSERT_EQ(replayer->call(kSend, site(2), {0, 1, 1, 8}), Fit::Follows);
  }
  ASSERT_EQ(replayer->named_event("", site(22)), Fit::Follows);
  EXPECT_EQ(replayer->end_of_program(), Fit::Follows);
}

TEST_F(NamedEvents, AnotherNameDiffers) {
  ASSERT_EQ(replayer->named_event("step", site(20)), Fit::Follows);
  ASSERT_EQ(replayer->named_event("input", site(21)), Fit::Differs);
  EXPECT_EQ(replayer->report().event, 1u);
  EXPECT_EQ(replayer->report().reason, "the event has another name");
  EXPECT_EQ(replayer->report().recorded.function, "reprise_event(\"output\")");
  EXPECT_EQ(replayer->report().actual.function, "reprise_event(\"input\")");
}

TEST_F(NamedEvents, AKnownNameAtAnotherTimeDiffers) {
  ASSERT_EQ(replayer->named_event("step", site(20)), Fit::Follows);
  ASSERT_EQ(replayer->named_event("step", site(20)), Fit::Differs);
  EXPECT_EQ(replayer->report().actual.function, "reprise_event(\"step\")");
}

TEST_F(NamedEvents, AMissingOrAdditionalEventDiffers) {
  ASSERT_EQ(replayer->named_event("step", site(20)), Fit::Follows);
  ASSERT_EQ(replayer->call(kSend, site(2), {0, 1, 1, 8}), Fit::Differs);
  EXPECT_EQ(replayer->report().recorded.function, "reprise_event(\"output\")");
}

TEST_F(NamedEvents, MoreNamesThanFitAreHarmless) {
  TemporaryDirectory other;
  Recorder recorder;
  ASSERT_TRUE(recorder.begin(kTable));
  ASSERT_TRUE(recorder.attach(other.fd(), {kTestTrace, 0, 0}, {}, false));
  const std::uint32_t count = trace::kMaxNames + 50;
  const auto name = [](std::uint32_t i) { return "step " + std::to_string(i); };
  for (std::uint32_t i = 0; i < count; ++i) recorder.named_event(name(i).c_str(), site(20));
  recorder.writer().finish({trace::EndKind::Finalized, 0, false});
  auto reader = trace::RankReader::open(other.fd(), 0, kTestTrace);
  ASSERT_TRUE(reader);
  Replayer again(CallStream(std::move(*reader)), kTable);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(again.named_event(name(i).c_str(), site(20)), Fit::Follows) << i;
}

}  // namespace
}  // namespace reprise::engine
