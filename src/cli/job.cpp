#include "cli/job.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <thread>

#include "base/process.hpp"
#include "base/text.hpp"
#include "cli/speech.hpp"

namespace reprise::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
constexpr auto kPoll = 10ms;
constexpr auto kTermPatience = 3s;
constexpr auto kKillPatience = 2s;

std::atomic<pid_t> handed_to{-1};
std::atomic<int> last_signal{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

struct sigaction previous[kSignals.size()];

void hand_on(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  if (signal != SIGUSR1 && signal != SIGUSR2) last_signal = signal;
  const pid_t child = handed_to;
  const bool from_terminal = info && info->si_code == SI_KERNEL;
  if (child > 0 && !from_terminal) ::kill(child, signal);
  errno = saved;
}

void install_handlers() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &previous[i]);
    if (previous[i].sa_handler == SIG_IGN) continue;  // nohup means it
    struct sigaction action {};
    action.sa_sigaction = hand_on;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

void restore_handlers() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous[i], nullptr);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

// A process in the form that the system wants.
struct Prepared {
  explicit Prepared(const Process& process)
      : arguments(pointers(process.command)),
        environment(pointers(process.environment)),
        directory(process.directory.empty() ? nullptr : process.directory.c_str()),
        file(process.file.empty() ? arguments[0] : process.file.c_str()) {}
  std::vector<char*> arguments;
  std::vector<char*> environment;
  const char* directory;
  const char* file;
};

// In the child: only async-signal-safe calls. Reports errno through the pipe when it cannot become the command.
[[noreturn]] void become(const Prepared& process, int report, const sigset_t& mask) {
  restore_handlers();
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (!process.directory || ::chdir(process.directory) == 0)
    ::execvpe(process.file, process.arguments.data(), process.environment.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(kNotFound);
}

[[noreturn]] void become_all(const std::vector<Prepared>& processes, int report, const sigset_t& mask, bool bound) {
  if (bound) ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // their own parent is this process
  for (const Prepared& process : processes)
    if (::fork() == 0) become(process, report, mask);
  restore_handlers();
  if (bound)
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::close(report);
  int first = 0;
  for (;;) {
    int status = 0;
    if (::waitpid(-1, &status, 0) < 0) {
      if (errno == EINTR) continue;
      break;
    }
    if (first == 0) first = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  ::_exit(first);
}

}  // namespace

Job Job::start_all(const std::vector<Process>& processes, bool bound) {
  if (processes.empty() || processes[0].command.empty()) throw UserError("there is no command to run");
  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) fail("cannot make a pipe: {}", error_text(errno));
  const UniqueFd report_in(pipe_ends[0]);
  UniqueFd report_out(pipe_ends[1]);
  std::vector<Prepared> prepared;
  for (const Process& process : processes) prepared.emplace_back(process);
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  last_signal = 0;

  // Signals wait until we know whom to hand them on to.
  sigset_t all;
  sigset_t mask;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &mask);
  install_handlers();
  const pid_t child = ::fork();
  if (child == 0 && prepared.size() == 1) become(prepared[0], report_out.get(), mask);
  if (child == 0) become_all(prepared, report_out.get(), mask, bound);
  const int fork_error = errno;
  handed_to = child;
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (child < 0) {
    restore_handlers();
    fail("cannot start a process: {}", error_text(fork_error));
  }
  report_out.reset(-1);
  Job job(child);
  int error = 0;
  ssize_t got;
  do got = ::read(report_in.get(), &error, sizeof error);
  while (got < 0 && errno == EINTR);
  if (got == sizeof error) {
    job.wait();
    throw UserError(fmt::format("cannot run {}: {}", printable(processes[0].command[0]), error_text(error)),
                    error == ENOENT ? kNotFound : kNotRunnable);
  }
  return job;
}

Job::Job(Job&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_), reaped_(std::move(other.reaped_)) {}

Job::~Job() {
  if (pid_ <= 0) return;
  handed_to = -1;
  restore_handlers();
}

int Job::received_signal() { return last_signal; }

void Job::reap() {
  while (true) {
    int status = 0;
    const pid_t ended = ::waitpid(-1, &status, WNOHANG);
    if (ended < 0 && errno == EINTR) continue;
    if (ended <= 0) return;
    reaped_.push_back({ended, status});
    if (ended != pid_) continue;
    status_ = status;
    handed_to = -1;
  }
}

std::optional<int> Job::poll() {
  reap();
  return status_;
}

int Job::wait() {
  while (!status_) {
    // Sleeps until some child ends, but leaves reaping to reap().
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT) != 0 && errno == ECHILD) {
      status_ = 0;  // cannot happen: the command is our child until we reap it
      break;
    }
    reap();
  }
  return *status_;
}

bool Job::await_descendants(std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (true) {
    reap();
    if (descendants_of(::getpid()).empty()) {
      reap();
      return true;
    }
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(kPoll);
  }
}

void Job::terminate() {
  // Told only once: a launcher that is told twice gives up its orderly shutdown.
  for (const pid_t pid : descendants_of(::getpid())) ::kill(pid, SIGTERM);
  if (await_descendants(kTermPatience)) return;
  const auto until = std::chrono::steady_clock::now() + kKillPatience;
  while (std::chrono::steady_clock::now() < until) {
    for (const pid_t pid : descendants_of(::getpid())) ::kill(pid, SIGKILL);
    if (await_descendants(kPoll)) return;
  }
}

std::vector<pid_t> descendants_of(pid_t ancestor) {
  std::multimap<pid_t, pid_t> children;
  DIR* const directory = ::opendir("/proc");
  if (!directory) return {};
  while (const dirent* entry = ::readdir(directory)) {
    const auto pid = parse_number(entry->d_name);
    if (!pid) continue;
    const auto stat = read_file_at(AT_FDCWD, std::string("/proc/") + entry->d_name + "/stat", 4096, true);
    if (!stat) continue;
    // "pid (name) state parent ...", where the name may hold anything.
    const std::size_t name_end = stat->rfind(')');
    if (name_end == std::string::npos) continue;
    const auto fields = split(std::string_view(*stat).substr(name_end + 1), ' ');
    const auto parent = fields.size() > 2 ? parse_number(fields[2]) : std::nullopt;
    if (!parent || fields[1] == "Z" || fields[1] == "X") continue;
    children.emplace(static_cast<pid_t>(*parent), static_cast<pid_t>(*pid));
  }
  ::closedir(directory);
  std::vector<pid_t> found;
  std::vector<pid_t> open = {ancestor};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (auto [at, end] = children.equal_range(parent); at != end; ++at) {
      found.push_back(at->second);
      open.push_back(at->second);
    }
  }
  return found;
}

}  // namespace reprise::cli
