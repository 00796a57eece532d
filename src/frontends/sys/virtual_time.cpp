#include "frontends/sys/virtual_time.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

namespace reprise::sys {

namespace {

constexpr std::int64_t kStep = 1000;  // nanoseconds

constexpr std::int64_t kFirstProcess = 4'000'000;  // above every number that Linux gives

std::atomic<std::int64_t> g_begin{0};
std::int64_t g_first = 0;      // where processor time is counted from
std::int64_t g_monotonic = 0;  // what clocks that start with the machine show less than the others
int g_rank = -2;               // before MPI_Init nobody is anybody
std::atomic<std::int64_t> g_reads{0};
std::atomic<std::uint64_t> g_random{0};

std::uint64_t next_random() {
  std::uint64_t mixed = g_random.fetch_add(0x9e3779b97f4a7c15ull, std::memory_order_relaxed);
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebull;
  return mixed ^ mixed >> 31;
}

}  // namespace

void begin_virtual_time() {
  const char* const clock = std::getenv("REPRISE_CLOCK");
  char* end = nullptr;
  g_first = clock ? std::strtoll(clock, &end, 10) : 0;
  g_begin.store(g_first, std::memory_order_relaxed);
  if (end && *end == ',') g_monotonic = g_first - std::strtoll(end + 1, nullptr, 10);
  g_time_is_virtual = true;
}

void write_nowhere() {
  const int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  dup2(fd, STDOUT_FILENO);
  close(fd);
}

void becomes_rank(int rank) {
  g_rank = rank;
  g_random.store(static_cast<std::uint64_t>(rank + 1) << 40, std::memory_order_relaxed);
}

void advance_virtual_time(std::int64_t nanoseconds) {
  if (nanoseconds > 0) g_begin.fetch_add(nanoseconds, std::memory_order_relaxed);
}

std::int64_t virtual_now() {
  return g_begin.load(std::memory_order_relaxed) + kStep * g_reads.load(std::memory_order_relaxed);
}

void advance_virtual_time_to(std::int64_t time) { advance_virtual_time(time - virtual_now()); }

std::int64_t virtual_time_of(const timespec& time) {
  const std::int64_t now = virtual_now();
  const std::int64_t number = time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
  const auto apart = [&](std::int64_t one) { return one > now ? one - now : now - one; };
  return apart(number + g_monotonic) < apart(number) ? number + g_monotonic : number;
}

std::int64_t virtual_nanoseconds() {
  return g_begin.load(std::memory_order_relaxed) + kStep * (g_reads.fetch_add(1, std::memory_order_relaxed) + 1);
}

bool answer_virtually(Function function, std::int64_t about, std::span<std::int64_t> numbers) {
  if (function == Function::ClockGettime && about > CLOCK_TAI) return false;  // there is none
  if (function == Function::TimespecGet && about != TIME_UTC) return false;
  std::fill(numbers.begin(), numbers.end(), 0);
  const auto used = [] { return (virtual_nanoseconds() - g_first) / 1000; };  // processor time in microseconds
  switch (function) {
    case Function::ClockGettime:
      numbers[0] = virtual_nanoseconds();
      if (about == CLOCK_PROCESS_CPUTIME_ID || about == CLOCK_THREAD_CPUTIME_ID || about < 0) numbers[0] -= g_first;
      else if (about != CLOCK_REALTIME && about != CLOCK_REALTIME_COARSE && about != CLOCK_TAI)
        numbers[0] -= g_monotonic;
      return true;
    case Function::TimespecGet: numbers[0] = virtual_nanoseconds(); return true;
    case Function::Gettimeofday: numbers[0] = virtual_nanoseconds() / 1000; return true;
    case Function::Time: numbers[0] = virtual_nanoseconds() / 1'000'000'000; return true;
    case Function::Clock: numbers[0] = used(); return true;
    case Function::Times: numbers[0] = numbers[1] = used() / 10'000; return true;
    case Function::Getrusage: numbers[0] = used(); return true;
    case Function::Arc4random:
    case Function::RandomDevice: numbers[0] = static_cast<std::int64_t>(next_random() & 0xffffffffu); return true;
    case Function::Getpid: numbers[0] = kFirstProcess + g_rank; return true;
    case Function::Getppid: numbers[0] = kFirstProcess - 1; return true;
    default: return false;
  }
}

bool answer_virtually(std::span<std::uint8_t> bytes) {
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(next_random());
  return true;
}

}  // namespace reprise::sys
