// How the command speaks: on stderr, one sentence per line, each beginning with "reprise: ".
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace reprise::cli {

// Exit statuses that are Reprise's own (the others are the program's).
inline constexpr int kTrouble = 125;      // Reprise could not do its work
inline constexpr int kNotRunnable = 126;  // the command was found but could not be started
inline constexpr int kNotFound = 127;     // there is no such command
inline constexpr int kDiverged = 75;      // a replay that went another way

// The end of a command for a reason that a user can understand; main shows the sentence.
class UserError : public std::runtime_error {
 public:
  explicit UserError(const std::string& sentence, int status = kTrouble)
      : std::runtime_error(sentence), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

void say_line(const std::string& sentence);

template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_line(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw UserError(fmt::format(format, std::forward<Args>(args)...));
}

// The value, or the error as a UserError.
template <class T>
T value_or_fail(Result<T> result) {
  if (!result) throw UserError(result.error().what);
  return std::move(*result);
}
inline void value_or_fail(Result<void> result) {
  if (!result) throw UserError(result.error().what);
}

}  // namespace reprise::cli
