#include "report/deadlock_view.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace reprise::report {
namespace {

using analyze::ThreadDeadlock;

std::string thread_words(std::uint32_t number) {
  return number == 0 ? "the main thread" : fmt::format("thread {}", number);
}

std::string place(const std::string& at) { return at.empty() ? "an unknown place" : printable(at); }

std::string wait_words(const ThreadDeadlock::Thread& thread) {
  if (thread.function == "pthread_join")
    return fmt::format("waits for the end of {}", thread_words(thread.waits_for.value_or(0)));
  if (thread.function == "pthread_cond_wait") return fmt::format("waits for condition {}", thread.object);
  const std::string lock = fmt::format("waits for lock {}", thread.object);
  if (!thread.waits_for) return lock + ", held by readers";
  if (*thread.waits_for == thread.number) return lock + ", which it holds itself";
  return fmt::format("{}, held by {}", lock, thread_words(*thread.waits_for));
}

std::string headline(const ThreadDeadlock& deadlock) {
  const std::string threads = deadlock.stuck.size() == deadlock.threads
                                  ? (deadlock.threads == 1 ? "its only thread" : "all its threads")
                                  : fmt::format("{} of its {} threads", deadlock.stuck.size(), deadlock.threads);
  const char* const why = deadlock.waits_for_condition() ? "nobody is left to wake them" : "they wait for each other";
  return fmt::format("deadlock in rank {}: {} can never go on, {}", deadlock.rank, threads,
                     deadlock.stuck.size() == 1 ? "it waits for itself" : why);
}

}  // namespace

std::vector<std::string> deadlock_lines(const ThreadDeadlock& deadlock) {
  std::vector<std::string> lines{headline(deadlock)};
  for (const ThreadDeadlock::Thread& thread : deadlock.stuck) {
    lines.push_back(fmt::format("  {} {}, in {} at {}", thread_words(thread.number), wait_words(thread),
                                printable(thread.function), place(thread.at)));
    for (const ThreadDeadlock::Lock& lock : thread.holds)
      lines.push_back(fmt::format("    holds lock {}, taken at {}", lock.name, place(lock.at)));
    if (thread.signal)
      lines.push_back(fmt::format("    condition {} was last signalled by {} at {}{}", thread.object,
                                  thread_words(thread.signal->thread), place(thread.signal->at),
                                  thread.signal->before ? ", before this wait began: a lost wake-up" : ""));
  }
  return lines;
}

}  // namespace reprise::report
