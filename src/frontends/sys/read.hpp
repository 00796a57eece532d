// One read of a clock, a random source or the like, by whoever called us: is it to be recorded, answered from the log,
// or none of our business? While a Read lives, everything else that its thread does passes through unseen, so that what
// the real function calls itself, and signal handlers, do not get into the log.
#pragma once

#include <array>
#include <cerrno>
#include <span>

#include "engine/session.hpp"
#include "frontends/inside.hpp"
#include "frontends/sys/functions.hpp"

namespace reprise::sys {

using engine::Mode;

// Has the constructor of this library run? Other libraries' constructors may come before it.
inline std::atomic<bool> g_born{false};
// Makes the session, if there is none yet.
inline void be_born() {
  g_born.store(true, std::memory_order_relaxed);
  engine::Session::get();
}

// Record, Replay, Explore, or Passive: forward it. Otherwise t_inside is set.
Mode decide(Mode mode, const void* caller);

inline Mode mode_for(const void* caller) {
  const Mode mode = engine::mode();
  if (mode == Mode::Passive && g_born.load(std::memory_order_relaxed)) [[likely]]
    return Mode::Passive;
  if (frontends::t_inside) return Mode::Passive;
  return decide(mode, caller);
}

class Read {
 public:
  // `about` is compared in a replay, like `bytes`, the number of bytes asked for.
  Read(Function function, const void* caller, std::int64_t about = 0, std::int64_t bytes = 0)
      : mode_(mode_for(caller)) {
    if (mode_ != Mode::Passive) begin(function, caller, about, bytes);
  }
  ~Read() {
    if (mode_ != Mode::Passive) frontends::t_inside = false;
  }
  Read(const Read&) = delete;
  Read& operator=(const Read&) = delete;

  bool passes() const { return mode_ == Mode::Passive; }

  // In replay, from the log; in an explored rank, made up. False: make the real call. error() is then the errno that it failed with, or 0.
  bool answers(std::span<std::int64_t> numbers);
  bool answers(std::span<std::uint8_t> room, std::size_t& size);
  int error() const { return error_; }

  // While recording, what the real call brought. errno stays as it is.
  void log(std::span<const std::int64_t> numbers);
  void log(std::span<const std::uint8_t> bytes);
  void log_failure(trace::Kind kind, int error);

 private:
  void begin(Function function, const void* caller, std::int64_t about, std::int64_t bytes);

  Mode mode_;
  Function function_{};
  int error_ = 0;
  engine::Session::Read what_;
};

// A function that cannot fail and returns a number.
template <class Real>
auto read_number(Function function, const void* caller, std::int64_t about, Real real) -> decltype(real()) {
  using Number = decltype(real());
  Read read(function, caller, about);
  if (read.passes()) return real();
  std::array<std::int64_t, 1> values{};
  if (read.answers(values)) return static_cast<Number>(values[0]);
  const Number number = real();
  values[0] = static_cast<std::int64_t>(number);
  read.log(values);
  return number;
}

// A function that returns 0 and fills something in, or fails with -1 and errno. `get` turns what was filled in into
// numbers, `set` does the reverse.
template <std::size_t kCount, class Real, class Get, class Set>
int read_numbers(Function function, const void* caller, std::int64_t about, Real real, Get get, Set set) {
  Read read(function, caller, about);
  if (read.passes()) return real();
  std::array<std::int64_t, kCount> values{};
  if (read.answers(values)) {
    if (read.error() == 0) {
      set(values);
      return 0;
    }
    errno = read.error();
    return -1;
  }
  const int result = real();
  if (result == 0) {
    get(values);
    read.log(values);
  } else {
    read.log_failure(trace::Kind::Numbers, errno);
  }
  return result;
}

// A function that fills a buffer and returns how much of it, or fails with -1 and errno.
template <class Real>
ssize_t read_bytes(Function function, const void* caller, std::int64_t about, void* buffer, std::size_t size,
                   Real real) {
  Read read(function, caller, about, static_cast<std::int64_t>(size));
  if (read.passes()) return real();
  auto* const bytes = static_cast<std::uint8_t*>(buffer);
  std::size_t got = 0;
  if (read.answers(std::span(bytes, size), got)) {
    if (read.error() == 0) return static_cast<ssize_t>(got);
    errno = read.error();
    return -1;
  }
  const ssize_t result = real();
  if (result >= 0) read.log(std::span<const std::uint8_t>(bytes, static_cast<std::size_t>(result)));
  else read.log_failure(trace::Kind::Bytes, errno);
  return result;
}

}  // namespace reprise::sys
