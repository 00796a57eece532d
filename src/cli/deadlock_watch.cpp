#include "cli/deadlock_watch.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>

#include "cli/speech.hpp"

namespace reprise::cli {

using namespace std::chrono_literals;

DeadlockWatch::DeadlockWatch(int dir_fd) : dir_fd_(dir_fd), thread_([this] { watch(); }) {}

void DeadlockWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

// A report is several lines: it is complete when the file has stopped growing.
void DeadlockWatch::watch() {
  off_t size = 0;
  off_t read = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, 1s, [&] { return stopped_; })) {
    struct stat info {};
    if (::fstatat(dir_fd_, "notes", &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    const bool grows = info.st_size != size;
    size = info.st_size;
    if (grows || size == read) continue;
    read = size;
    const auto all = deadlock_notes(read_trace_notes(dir_fd_, {}));
    if (all.size() == said_) continue;
    const std::vector<analyze::DeadlockNote> unsaid(all.begin() + static_cast<std::ptrdiff_t>(said_), all.end());
    say_deadlocks(unsaid);
    if (std::any_of(unsaid.begin(), unsaid.end(), [](const auto& note) { return note.text.ends_with("|goes-on"); }))
      say("the other threads go on; Ctrl-C ends the run and keeps what was recorded");
    said_ = all.size();
  }
}

std::vector<analyze::DeadlockNote> DeadlockWatch::unsaid(const std::vector<TraceNote>& notes) const {
  auto all = deadlock_notes(notes);
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(said_, all.size())));
  return all;
}

}  // namespace reprise::cli
