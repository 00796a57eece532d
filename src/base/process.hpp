// What the system knows about processes and files: descriptors that close themselves, names of signals, wait statuses
// in words, where programs are.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"

namespace reprise {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(std::exchange(other.fd_, -1));
    return *this;
  }
  ~UniqueFd() { reset(-1); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  void reset(int fd);

 private:
  int fd_ = -1;
};

std::string error_text(int error);  // strerror, thread-safe

std::string host_name();
std::string machine_architecture();  // uname -m
std::string executable_directory();  // of the running program; empty if unknown
std::string working_directory();     // empty if unknown

std::string signal_name(int signal);        // "SIGKILL"
std::string status_words(int wait_status);  // "exit status 3", "SIGKILL"
int exit_code(int wait_status);             // as a shell reports it: 128+signal

// The file that executing `name` would run: by PATH when it has no slash. Empty if there is none.
std::string find_program(std::string_view name);
bool is_regular_file(const std::string& path);
bool process_alive(pid_t pid);

// At most `limit` bytes of a regular file; an error when it is longer. A link as the last component is refused when
// `follow` is false.
Result<std::string> read_file_at(int dir_fd, const std::string& name, std::size_t limit, bool follow);

}  // namespace reprise
