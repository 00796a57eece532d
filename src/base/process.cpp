#include "base/process.hpp"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/text.hpp"

namespace reprise {

void UniqueFd::reset(int fd) {
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

std::string error_text(int error) {
  char buffer[256];
  return ::strerror_r(error, buffer, sizeof buffer);  // the GNU form returns the text
}

std::string host_name() {
  utsname name{};
  return ::uname(&name) == 0 ? name.nodename : "";
}

std::string machine_architecture() {
  utsname name{};
  return ::uname(&name) == 0 ? name.machine : "";
}

std::string executable_directory() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0 || size == sizeof path) return "";
  const std::string_view text(path, static_cast<std::size_t>(size));
  return std::string(text.substr(0, text.rfind('/')));
}

std::string working_directory() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) ? path : "";
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? std::string("SIG") + name : "signal " + std::to_string(signal);
}

std::string status_words(int wait_status) {
  if (WIFSIGNALED(wait_status)) return signal_name(WTERMSIG(wait_status));
  return "exit status " + std::to_string(WEXITSTATUS(wait_status));
}

int exit_code(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

bool is_regular_file(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

std::string find_program(std::string_view name) {
  if (name.empty()) return "";
  const auto runnable = [](const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0 && is_regular_file(path);
  };
  if (name.find('/') != std::string_view::npos) {
    std::string path(name);
    return runnable(path) ? path : "";
  }
  const char* search = std::getenv("PATH");
  for (const std::string& directory : split(search ? search : "/usr/local/bin:/usr/bin:/bin", ':')) {
    std::string path = (directory.empty() ? "." : directory) + '/' + std::string(name);
    if (runnable(path)) return path;
  }
  return "";
}

bool process_alive(pid_t pid) {
  if (pid <= 0 || (::kill(pid, 0) != 0 && errno == ESRCH)) return false;
  // A zombie writes nothing any more, even if nobody has reaped it.
  const auto stat = read_file_at(AT_FDCWD, "/proc/" + std::to_string(pid) + "/stat", 4096, true);
  if (!stat) return false;
  const std::size_t after_name = stat->rfind(')');
  return after_name == std::string::npos || after_name + 2 >= stat->size() || (*stat)[after_name + 2] != 'Z';
}

Result<std::string> read_file_at(int dir_fd, const std::string& name, std::size_t limit, bool follow) {
  const UniqueFd fd(::openat(dir_fd, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW)));
  if (!fd) return Error{"cannot open " + name + ": " + error_text(errno)};
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Error{name + " is not a regular file"};
  std::string text;
  char buffer[16384];
  while (true) {
    const ssize_t got = ::read(fd.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{"cannot read " + name + ": " + error_text(errno)};
    if (got == 0) return text;
    if (text.size() + static_cast<std::size_t>(got) > limit) return Error{name + " is larger than expected"};
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace reprise
