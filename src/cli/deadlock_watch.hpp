// While a program is being recorded: says what its ranks report about deadlocks among their threads. Those that leave
// other threads running do not end the run, and whoever waits for it must learn why it does not come to its end.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "cli/trace_notes.hpp"

namespace reprise::cli {

class DeadlockWatch {
 public:
  explicit DeadlockWatch(int dir_fd);
  ~DeadlockWatch() { stop(); }
  DeadlockWatch(const DeadlockWatch&) = delete;
  DeadlockWatch& operator=(const DeadlockWatch&) = delete;

  void stop();
  // After stop(): what has not been said yet.
  std::vector<analyze::DeadlockNote> unsaid(const std::vector<TraceNote>& notes) const;

 private:
  void watch();

  const int dir_fd_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stopped_ = false;
  std::size_t said_ = 0;
  std::thread thread_;
};

}  // namespace reprise::cli
