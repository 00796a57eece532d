// Time as a job experiences it, for the question whether a replay has stopped moving or is only slow.
//
// A replay has to do what the recorded run did, so it needs about as much processor time, but on a busy machine that
// may take any time by the clock on the wall. This clock stands still while the job waits for processors that others
// use, for a disk, or because somebody has stopped it (a debugger); also where those others are other machines on the
// same host, which take the processors themselves away. What the job's own processes take from each other counts as
// time: they did so in the recorded run, too.
//
// Only processes on this machine are seen. Where the system does not tell how long they waited, it is a plain clock.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>

namespace reprise::cli {

struct ThreadUse {
  double ran = 0;            // seconds on a processor
  double waited = 0;         // seconds ready to run, but without one
  bool ready = false;        // at this moment: running, or waiting for a processor
  std::uint64_t sleeps = 0;  // how often it has waited for something else
};

class JobClock {
 public:
  using Time = std::chrono::microseconds;

  JobClock();

  // Looks at the descendants of this process, a few times a second however often it is called.
  void tick();
  // How much time the job has had since the clock was made.
  Time now() const { return time_; }

 private:
  struct Look {
    std::map<pid_t, ThreadUse> threads;
    bool stopped = false;
    bool on_disk = false;
    double stolen = 0;  // seconds for which the host gave processors that we wanted to somebody else, since it started
  };
  static Look look();
  void advance(double elapsed, const Look& now);

  unsigned processors_;
  std::map<pid_t, ThreadUse> threads_;
  double stolen_;
  std::chrono::steady_clock::time_point looked_;
  std::chrono::steady_clock::duration pause_{};
  Time time_{0};
};

// What a thread ran and waited between two looks at it. What the system has counted of the wait, and in sum.
struct ThreadShare {
  double ran = 0;
  double waited = 0;
  double counted = 0;
};
ThreadShare used_between(const ThreadUse& before, const ThreadUse& now, double elapsed);

// The seconds that threads waited in sum, of which the system has counted only some. It never counts stolen ones.
double waited_in_sum(double counted, double waited, double stolen);

// Of `elapsed` seconds, how many has a job had whose threads ran for `ran` seconds in sum, and were ready to run but
// waited for `waited` seconds in sum, on a machine with so many processors?
double time_had(double elapsed, double ran, double waited, unsigned processors);

}  // namespace reprise::cli
