// The user's command as a child process, together with whatever it leaves behind.
//
// A launcher that is killed leaves ranks; they must have ended before the trace is sealed. Reprise makes itself the
// reaper of its orphans (PR_SET_CHILD_SUBREAPER), so that they stay its descendants, and ends nothing else.
//
// Signals: what the terminal sends (Ctrl-C) reaches the whole process group, the launcher included, so Reprise only
// survives it; what somebody sends to Reprise alone is handed on. One Job at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace reprise::cli {

// What to run, and how.
struct Process {
  std::vector<std::string> command;
  std::vector<std::string> environment;
  std::string directory;  // empty: here
  std::string file;       // if it is not what command[0] says: a program may look at its name
};

class Job {
 public:
  // Throws UserError with status 126 or 127 when the command cannot be started.
  static Job start(const Process& process) { return start_all({process}); }
  // Several side by side: a process of their own starts them, and ends as the first of them that did not end well.
  // `bound`: signals are not handed on to them, and they can be told when this process is gone (PR_SET_PDEATHSIG).
  static Job start_all(const std::vector<Process>& processes, bool bound = false);
  Job(Job&& other) noexcept;
  Job& operator=(Job&&) = delete;
  ~Job();  // restores signal handling; does not end anything

  // The command's wait status once it has ended; never blocks. Reaps orphans on the way.
  std::optional<int> poll();
  int wait();

  // Waits until no descendant is left, at most so long. True if none is left.
  bool await_descendants(std::chrono::milliseconds patience);

  // Ends the command and all its descendants: SIGTERM, and SIGKILL for those that stay.
  void terminate();

  pid_t pid() const { return pid_; }
  // A signal that asked this process to end, if one came (it was handed on).
  static int received_signal();

  struct Reaped {
    pid_t pid;
    int wait_status;
  };
  // Every child that was reaped so far, the command included, in the order of their end.
  const std::vector<Reaped>& reaped() const { return reaped_; }

 private:
  explicit Job(pid_t pid) : pid_(pid) {}
  void reap();

  pid_t pid_ = -1;
  std::optional<int> status_;
  std::vector<Reaped> reaped_;
};

// Processes below `ancestor` that still run (zombies left out).
std::vector<pid_t> descendants_of(pid_t ancestor);

}  // namespace reprise::cli
