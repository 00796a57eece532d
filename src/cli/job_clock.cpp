#include "cli/job_clock.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <time.h>
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
constexpr auto kLongPause = 500ms;
constexpr int kMaxShare = 20;  // looking may take one part in so many of our time
// Never slower than this, lest an account that is wrong stops the clock for ever.
constexpr double kSlowest = 1.0 / 16;

unsigned usable_processors() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

std::string read_proc(const std::string& path) {
  constexpr std::size_t kLimit = 1 << 20;  // /proc/stat has a line per processor and a number per interrupt
  const auto text = read_file_at(AT_FDCWD, path, kLimit, true);
  return text ? *text : std::string();
}

// The letter in /proc/PID/stat, or in that of a thread.
char state_in(const std::string& directory) {
  const std::string stat = read_proc(directory + "/stat");
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? 'X' : stat[name_end + 2];
}

std::uint64_t sleeps_in(const std::string& directory) {
  constexpr std::string_view kWord = "\nvoluntary_ctxt_switches:\t";
  const std::string status = read_proc(directory + "/status");
  const std::size_t at = status.find(kWord);
  if (at == std::string::npos) return 0;
  const std::size_t number = at + kWord.size();
  return parse_number(std::string_view(status).substr(number, status.find('\n', number) - number)).value_or(0);
}

// Of all processors, in sum; none where the system does not run on a virtual machine, or cannot tell.
double stolen_time() {
  constexpr std::size_t kStolen = 7;  // after the name: user, nice, system, idle, iowait, irq, softirq, steal
  const std::string stat = read_proc("/proc/stat");
  const auto fields = split(std::string_view(stat).substr(0, stat.find('\n')), ' ');
  std::size_t numbers = 0;
  for (const auto& field : fields)
    if (const auto number = parse_number(field); number && numbers++ == kStolen)
      return static_cast<double>(*number) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return 0;
}

// By our own thread: on a busy machine a look takes long, but takes no more from anybody.
Clock::duration processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

double to_seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

ThreadShare used_between(const ThreadUse& before, const ThreadUse& now, double elapsed) {
  // A number may be used again for a new thread, whose account begins at nothing.
  const double ran = std::clamp(now.ran - before.ran, 0.0, elapsed);
  // The system counts a wait when it is over: of a thread that wanted to run all the time, we know better.
  const bool always_ready = before.ready && now.ready && before.sleeps == now.sleeps;
  const double counted = std::clamp(now.waited - before.waited, 0.0, elapsed);
  return {ran, always_ready ? elapsed - ran : counted, counted};
}

double waited_in_sum(double counted, double waited, double stolen) { return std::max(waited, counted + stolen); }

double time_had(double elapsed, double ran, double waited, unsigned processors) {
  if (elapsed <= 0) return 0;
  // On a machine of its own, so much of it would have run.
  const double possible = std::min(ran + waited, elapsed * processors);
  const double lost = std::max(0.0, possible - ran);
  // Spread over those that could have run side by side.
  return elapsed * std::max(kSlowest, 1 - lost / std::max(possible, elapsed));
}

JobClock::JobClock() : processors_(usable_processors()), stolen_(stolen_time()), looked_(Clock::now()) {}

JobClock::Look JobClock::look() {
  Look look;
  look.stolen = stolen_time();
  for (const pid_t pid : descendants_of(::getpid())) {
    const std::string process = "/proc/" + std::to_string(pid);
    const char state = state_in(process);
    look.stopped |= state == 'T' || state == 't';
    look.on_disk |= state == 'D';
    DIR* const tasks = ::opendir((process + "/task").c_str());
    if (!tasks) continue;
    while (const dirent* entry = ::readdir(tasks)) {
      const auto thread = parse_number(entry->d_name);
      if (!thread) continue;
      const std::string task = process + "/task/" + entry->d_name;
      // Nanoseconds on a processor, nanoseconds of waiting for one, and how often.
      const auto fields = split(read_proc(task + "/schedstat"), ' ');
      if (fields.size() < 2) continue;
      const auto ran = parse_number(fields[0]);
      const auto waited = parse_number(fields[1]);
      if (ran && waited)
        look.threads[static_cast<pid_t>(*thread)] = {static_cast<double>(*ran) / 1e9,
                                                     static_cast<double>(*waited) / 1e9, state_in(task) == 'R',
                                                     sleeps_in(task)};
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
    double counted = 0;
    for (const auto& [thread, now_use] : now.threads) {
      const auto before = threads_.find(thread);
      const ThreadShare use = used_between(before == threads_.end() ? ThreadUse{} : before->second, now_use, elapsed);
      ran += use.ran;
      waited += use.waited;
      counted += use.counted;
    }
    waited = waited_in_sum(counted, waited, std::max(0.0, now.stolen - stolen_));
    had = time_had(elapsed, ran, waited, processors_);
  }
  time_ += std::chrono::duration_cast<Time>(std::chrono::duration<double>(had));
}

void JobClock::tick() {
  const auto began = Clock::now();
  if (began - looked_ < std::max<Clock::duration>(kPause, pause_)) return;
  const auto used = processor_time();
  Look now = look();
  // When we have not come to look for much longer than we meant to, neither has anybody else come to anything.
  advance(std::min(to_seconds(began - looked_), 2 * to_seconds(std::max<Clock::duration>(kLongPause, pause_))), now);
  threads_ = std::move(now.threads);
  stolen_ = now.stolen;
  looked_ = began;
  pause_ = kMaxShare * (processor_time() - used);  // many processes: look less often
}

}  // namespace reprise::cli
