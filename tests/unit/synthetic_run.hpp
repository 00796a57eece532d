// A small run made up call by call, several ranks, for tests of what `show` makes of it.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "analyze/run_end.hpp"
#include "engine/recorder.hpp"
#include "trace_support.hpp"

namespace reprise::analyze {

enum : engine::FunctionId { kRecv, kIrecv, kSend, kTest, kWaitany, kBarrier, kWait, kSendInit, kStart, kFinalize };
inline constexpr const char* kNames[] = {"MPI_Recv",    "MPI_Irecv", "MPI_Send",      "MPI_Test",  "MPI_Waitany",
                                         "MPI_Barrier", "MPI_Wait",  "MPI_Send_init", "MPI_Start", "MPI_Finalize"};
inline constexpr std::uint8_t kFlags[] = {engine::kBlocking, 0, 0, 0, 0, 0, 0, 0, 0, 0};

class SyntheticRun {
 public:
  explicit SyntheticRun(std::uint32_t world) : world_(world) {}

  // Rank r's recorder, with MPI_COMM_WORLD and MPI_COMM_SELF defined.
  engine::Recorder& rank(std::uint32_t r) {
    auto& recorder = recorders_[r];
    if (recorder) return *recorder;
    recorder = std::make_unique<engine::Recorder>();
    EXPECT_TRUE(recorder->begin({kNames, kFlags, std::size(kNames)}));
    const auto attached = recorder->attach(directory_.fd(), {trace::kTestTrace, r, 0},
                                           {{"ranks", std::to_string(world_)}, {"host", "elsewhere"}}, false);
    EXPECT_TRUE(attached) << attached.error().what;
    std::vector<int> all(world_);
    for (std::uint32_t i = 0; i < world_; ++i) all[i] = static_cast<int>(i);
    const int me[] = {static_cast<int>(r)};
    recorder->define_communicator({engine::kNoComm, 1, "MPI_COMM_WORLD", 0, r, all});
    recorder->define_communicator({engine::kNoComm, 2 + r, "MPI_COMM_SELF", 0, 0, me});
    return *recorder;
  }

  // A whole call. Any address does as a call site; these lie in no module.
  void call(std::uint32_t r, engine::FunctionId function, const engine::Arguments& arguments) {
    enter(r, function, arguments);
    rank(r).returned();
  }
  void enter(std::uint32_t r, engine::FunctionId function, const engine::Arguments& arguments) {
    rank(r).call(function, site(function), arguments);
  }
  void receive_any(std::uint32_t r, std::uint32_t source, std::int32_t tag, std::int64_t comm = 0) {
    enter(r, kRecv, {comm, engine::kAnySource, engine::kAnyTag, 8});
    rank(r).resolve_blocking(rank(r).wildcard(), trace::kSourceBase + source, tag);
    rank(r).returned();
  }
  void poll(std::uint32_t r, int failures, bool success) {
    for (int i = 0; i < failures + (success ? 1 : 0); ++i) {
      bool absorbed = false;
      auto& at = rank(r).poll_begin(kTest, site(kTest), {}, absorbed);
      rank(r).poll_end(at, absorbed, i == failures);
      rank(r).returned();
    }
  }
  void finish(trace::EndKind kind = trace::EndKind::Finalized) {
    for (auto& [number, recorder] : recorders_) recorder->writer().finish({kind, 0, recorder->writer().in_call()});
  }

  RunEnd end() const {
    std::vector<std::uint32_t> ranks;
    for (const auto& [number, recorder] : recorders_) ranks.push_back(number);
    trace::Manifest manifest;
    manifest.trace_id = trace::kTestTrace;
    return read_run_end(directory_.fd(), manifest, ranks);
  }
  int fd() const { return directory_.fd(); }
  const trace::TemporaryDirectory& directory() const { return directory_; }

 private:
  static const void* site(engine::FunctionId function) {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(function) * 16 + 16);
  }

  std::uint32_t world_;
  trace::TemporaryDirectory directory_;
  std::map<std::uint32_t, std::unique_ptr<engine::Recorder>> recorders_;
};

}  // namespace reprise::analyze
