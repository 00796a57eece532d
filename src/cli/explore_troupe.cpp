#include "cli/explore_troupe.hpp"

#include <fmt/format.h>
#include <sys/personality.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

#include "analyze/run_end.hpp"
#include "cli/launch.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

using virtual_world::ServerState;

Troupe::Troupe(const std::vector<std::string>& command, const ChosenMpi& mpi, int ranks, int workers) {
  std::vector<Process> processes;
  // Where virtual time begins: a whole second, so that a program that prints it looks as usual.
  std::timespec monotonic{};
  ::clock_gettime(CLOCK_MONOTONIC, &monotonic);
  constexpr std::int64_t kNano = 1'000'000'000;
  const std::string clock =
      fmt::format("{},{}", std::int64_t{std::time(nullptr)} * kNano, std::int64_t{monotonic.tv_sec} * kNano);
  for (int i = 0; i < workers; ++i) {
    stages_.push_back(value_or_fail(explore::StageMemory::make(ranks)));
    Variables variables{{"REPRISE_MODE", "explore"},
                        {"REPRISE_DIR", "."},
                        {"REPRISE_CLOCK", clock},
                        {"LD_BIND_NOW", "1"},     // once, and not in every copy again
                        {"GOMP_SPINCOUNT", "0"},  // threads that wait for others sleep, which can be seen
                        {"REPRISE_STAGE", stages_.back().path()}};
    if (std::getenv("REPRISE_FREE_THREADS")) variables.emplace_back("REPRISE_FREE_THREADS", "1");
    rooms_.emplace_back();
    Launch launch = prepare_solo_launch(command, mpi.found.mpi, with_heap_library(mpi.preload_library), variables, {},
                                        rooms_.back().path());
    processes.push_back({std::move(launch.command), std::move(launch.environment), {}, {}});
  }
  // The same addresses in every run, so that a program that looks at them does the same.
  const int before = ::personality(0xffffffff);
  if (before >= 0) ::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE);
  job_.emplace(Job::start_all(processes, true));
  if (before >= 0) ::personality(static_cast<unsigned long>(before));
}

Troupe::~Troupe() {
  for (const auto& stage : stages_) {
    stage.get()->server.store(static_cast<std::uint32_t>(ServerState::Quit));
    futex_wake(stage.get()->server, 1);
  }
  if (job_ && !job_->await_descendants(std::chrono::milliseconds(2000))) job_->terminate();
}

bool Troupe::await_readiness(double patience) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience);
  for (const auto& stage : stages_) {
    const auto ready = static_cast<std::uint32_t>(ServerState::Ready);
    while (stage.get()->server.load(std::memory_order_acquire) != ready) {
      if (stage.get()->server.load(std::memory_order_acquire) == static_cast<std::uint32_t>(ServerState::Early))
        return false;
      const std::timespec timeout{0, 50'000'000};
      futex_wait(stage.get()->server, static_cast<std::uint32_t>(ServerState::Starting), &timeout);
      const auto status = job_->poll();
      if (stage.get()->refusal[0] != '\0') fail("{}", stage.get()->refusal);  // it has ended itself with this
      if (status)
        fail("the program ended ({}) before it called MPI_Init", status_words(*status));
      if (Job::received_signal() != 0) fail("interrupted");
      if (std::chrono::steady_clock::now() > deadline)
        fail("the program has not called MPI_Init within {:.0f} s (--step-timeout)", patience);
    }
  }
  return true;
}

std::optional<std::string> Troupe::trouble() {
  for (const auto& stage : stages_)
    if (stage.get()->refusal[0] != '\0') return std::string(stage.get()->refusal);
  if (const auto status = job_->poll())
    return fmt::format("the program ended unexpectedly ({})", status_words(*status));
  return std::nullopt;
}

}  // namespace reprise::cli
