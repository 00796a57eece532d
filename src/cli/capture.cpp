#include "cli/capture.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.hpp"

namespace reprise::cli {

namespace {

constexpr std::size_t kMaxOutput = 1u << 20;

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& string : strings) out.push_back(const_cast<char*>(string.c_str()));
  out.push_back(nullptr);
  return out;
}

// False when the time is over or the output is absurdly long.
bool read_all(int fd, std::string& out, std::chrono::milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  char buffer[4096];
  while (out.size() < kMaxOutput) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
    pollfd watched{fd, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&watched, 1, static_cast<int>(left.count())) <= 0) return false;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got <= 0) return got == 0;
    out.append(buffer, static_cast<std::size_t>(got));
  }
  return false;
}

}  // namespace

std::optional<std::string> capture(const std::vector<std::string>& command,
                                   const std::vector<std::pair<std::string, std::string>>& extra,
                                   std::chrono::milliseconds patience) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
  const UniqueFd in(ends[0]);
  UniqueFd out(ends[1]);
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  for (const auto& [name, value] : extra) {
    std::erase_if(environment,
                  [&, prefix = name + '='](const std::string& entry) { return entry.starts_with(prefix); });
    environment.push_back(name + '=' + value);
  }
  const auto arguments = pointers(command);
  const auto variables = pointers(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int error = ::posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return std::nullopt;
  out.reset(-1);
  std::string text;
  const bool complete = read_all(in.get(), text, patience);
  if (!complete) ::kill(child, SIGKILL);
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !complete || status != 0) return std::nullopt;
  return text;
}

}  // namespace reprise::cli
