// Numbers of processes. A program mixes its own into the seed of a random generator, so a replay tells it the recorded
// one; who sends a signal to that number means himself (or his parent) and not whoever has the number now.
#include <signal.h>
#include <sys/types.h>
#include <unistd.h>

#include "frontends/sys/load.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/sys/program_caller.hpp"
#include "frontends/sys/read.hpp"
#include "frontends/sys/virtual_time.hpp"

using namespace reprise::sys;

namespace {

constinit Next<pid_t()> g_getpid{"getpid"};
constinit Next<pid_t()> g_getppid{"getppid"};
constinit Next<pid_t()> g_gettid{"gettid"};
constinit Next<int(pid_t, int)> g_kill{"kill"};
constinit Next<int(pid_t, int, union sigval)> g_sigqueue{"sigqueue"};

// In replay, and in an explored rank: what the program was told, and what is true. A forked child goes on with what its
// parent was told.
struct Told {
  std::atomic<pid_t> told{0};
  std::atomic<pid_t> real{0};
};
constinit Told g_own;
constinit Told g_parent;

pid_t tell(Function function, const void* caller, Next<pid_t()>& real, Told& told) {
  const pid_t pid = read_number(function, caller, 0, [&] { return real(); });
  const Mode mode = reprise::engine::mode();
  if (mode != Mode::Replay && mode != Mode::Armed && !g_time_is_virtual) return pid;
  if (const pid_t actual = real(); actual != pid) {
    told.real.store(actual, std::memory_order_relaxed);
    told.told.store(pid, std::memory_order_relaxed);
  }
  return pid;
}

// The MPI library and our own code know the real numbers, one of which may be what the program was told of another
// process.
pid_t meant_by(const void* caller, pid_t pid) {
  for (const Told* known : {&g_own, &g_parent}) {
    const pid_t told = known->told.load(std::memory_order_relaxed);
    const pid_t real = known->real.load(std::memory_order_relaxed);
    if (told == 0 || (pid != told && pid != -told)) continue;
    if (!called_by_program(caller)) return pid;
    return pid == told ? real : -real;  // negative: the process group
  }
  return pid;
}

}  // namespace

void reprise::sys::find_process_ids() {
  g_getpid.find();
  g_getppid.find();
  g_gettid.find();
  g_kill.find();
  g_sigqueue.find();
}

extern "C" {

pid_t reprise_getpid() REPRISE_INTERPOSES("getpid");
pid_t reprise_getpid() { return tell(Function::Getpid, REPRISE_RETURN_ADDRESS, g_getpid, g_own); }

pid_t reprise_getppid() REPRISE_INTERPOSES("getppid");
pid_t reprise_getppid() { return tell(Function::Getppid, REPRISE_RETURN_ADDRESS, g_getppid, g_parent); }

// Of the main thread, where it is the same as getpid().
pid_t reprise_gettid() REPRISE_INTERPOSES("gettid");
pid_t reprise_gettid() {
  return read_number(Function::Gettid, REPRISE_RETURN_ADDRESS, 0, [] { return g_gettid(); });
}

int reprise_kill(pid_t, int) REPRISE_INTERPOSES("kill");
int reprise_kill(pid_t pid, int signal) {
  const pid_t meant = meant_by(REPRISE_RETURN_ADDRESS, pid);
  // By other signals it is known when they come; by this one, the other threads and ranks would be cut short of what they did.
  if (signal == SIGKILL && meant == static_cast<pid_t>(::syscall(SYS_getpid)) && reprise::engine::mode() == reprise::engine::Mode::Replay)
    reprise::engine::Session::get().wait_for_others_before_kill();
  return g_kill(meant, signal);
}

int reprise_sigqueue(pid_t, int, union sigval) REPRISE_INTERPOSES("sigqueue");
int reprise_sigqueue(pid_t pid, int signal, union sigval value) {
  return g_sigqueue(meant_by(REPRISE_RETURN_ADDRESS, pid), signal, value);
}

}  // extern "C"
