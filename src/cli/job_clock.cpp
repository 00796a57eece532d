#include "cli/job_clock.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/job.hpp"

namespace reprise::cli {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kPause = 200ms;
constexpr int kMaxShare = 20;  // looking may take one part in so many of our time
// Never slower than this, lest an account that is wrong stops the clock for ever.
constexpr double kSlowest = 1.0 / 16;

unsigned usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string read_proc(const std::string& path) {
  const auto text = read_file_at(AT_FDCWD, path, 4096, true);
  return text ? *text : std::string();
}

// The letter in /proc/PID/stat.
char process_state(const std::string& directory) {
  const std::string stat = read_proc(directory + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? 'X' : stat[name_end + 2];
}

double to_seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

double time_had(double elapsed, double ran, double waited, unsigned processors) {
  if (elapsed <= 0) return 0;
  // On a machine of its own, so much of it would have run.
  const double possible = std::min(ran + waited, elapsed * processors);
  const double lost = std::max(0.0, possible - ran);
  // Spread over those that could have run side by side.
  return elapsed * std::max(kSlowest, 1 - lost / std::max(possible, elapsed));
}

JobClock::JobClock() : processors_(usable_processors()), looked_(Clock::now()) {}

JobClock::Look JobClock::look() {
  Look look;
  for (const pid_t pid : descendants_of(::getpid())) {
    const std::string process = "/proc/" + std::to_string(pid);
    const char state = process_state(process);
    look.stopped |= state == 'T' || state == 't';
    look.on_disk |= state == 'D';
    DIR* const tasks = ::opendir((process + "/task").c_str());
    if (!tasks) continue;
    while (const dirent* entry = ::readdir(tasks)) {
      const auto thread = parse_number(entry->d_name);
      if (!thread) continue;
      // Nanoseconds on a processor, nanoseconds of waiting for one, and how often.
      const auto fields = split(read_proc(process + "/task/" + entry->d_name + "/schedstat"), ' ');
      if (fields.size() < 2) continue;
      const auto ran = parse_number(fields[0]);
      const auto waited = parse_number(fields[1]);
      if (ran && waited)
        look.threads[static_cast<pid_t>(*thread)] = {static_cast<double>(*ran) / 1e9,
                                                     static_cast<double>(*waited) / 1e9};
    }
    ::closedir(tasks);
  }
  return look;
}

void JobClock::advance(double elapsed, const Look& now) {
  if (now.stopped) return;
  double had = elapsed * kSlowest;
  if (!now.on_disk) {
    double ran = 0;
    double waited = 0;
    for (const auto& [thread, use] : now.threads) {
      const auto before = threads_.find(thread);
      const Use since = before == threads_.end() ? Use{} : before->second;
      // A number may be used again for a new thread, whose account begins at nothing.
      ran += std::clamp(use.ran - since.ran, 0.0, elapsed);
      waited += std::clamp(use.waited - since.waited, 0.0, elapsed);
    }
    had = time_had(elapsed, ran, waited, processors_);
  }
  time_ += std::chrono::duration_cast<Time>(std::chrono::duration<double>(had));
}

void JobClock::tick() {
  const auto began = Clock::now();
  if (began - looked_ < std::max<Clock::duration>(kPause, pause_)) return;
  Look now = look();
  advance(to_seconds(began - looked_), now);
  threads_ = std::move(now.threads);
  looked_ = began;
  pause_ = kMaxShare * (Clock::now() - began);  // many processes: look less often
}

}  // namespace reprise::cli
