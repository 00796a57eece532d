#include "engine/scout.hpp"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <iterator>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace reprise::engine {
namespace {

// Exit statuses that a program will hardly end with by itself.
constexpr int kFits = 201;
constexpr int kDiffers = 202;
constexpr int kLost = 203;
constexpr int kSeconds = 3;  // a program that computes for longer is not waiting for anything

// What changes nothing but the copy itself.
constexpr int kHarmless[] = {SYS_brk,           SYS_mmap,          SYS_munmap,          SYS_mremap,       SYS_madvise,
                             SYS_mprotect,      SYS_futex,         SYS_sched_yield,     SYS_nanosleep,    SYS_clock_nanosleep,
                             SYS_clock_gettime, SYS_gettimeofday,  SYS_getpid,          SYS_gettid,       SYS_getrusage,
                             SYS_rt_sigaction,  SYS_rt_sigreturn,  SYS_rt_sigprocmask,  SYS_getrandom,    SYS_sched_getaffinity,
                             SYS_exit,          SYS_exit_group,    SYS_pread64,      SYS_readlinkat,
#ifdef SYS_readlink  // newer architectures have only the others
                             SYS_readlink,      SYS_time,
#endif
};

// Whatever else it does ends it.
bool only_harmless() {
  constexpr std::size_t kCount = std::size(kHarmless);
  sock_filter filter[kCount + 3];
  filter[0] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < kCount; ++i)
    filter[1 + i] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(kHarmless[i]), static_cast<unsigned char>(kCount - i), 0);
  filter[kCount + 1] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  filter[kCount + 2] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const sock_fprog program{static_cast<unsigned short>(std::size(filter)), filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// At once: what a library does at the end of a process may not be harmless.
[[noreturn]] void end(int status) {
  for (;;) syscall(SYS_exit_group, status);
}

void become_scout() {
  g_scouting = true;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The kernel's ways to end it, not the program's; and no core files.
  for (const int number : {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) signal(number, SIG_DFL);
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  const itimerval limit{{0, 0}, {kSeconds, 0}};
  setitimer(ITIMER_REAL, &limit, nullptr);
  if (!only_harmless()) end(kLost);
}

}  // namespace

// The program must not hear of a child that it has not made, nor a debugger: no signal at its end, and not traced. Handlers
// for forks are not run. In a debugger, breakpoints that the copy comes to end it.
std::optional<ScoutReport> send_scout() {
  const long child = syscall(SYS_clone, CLONE_UNTRACED, nullptr, nullptr, nullptr, nullptr);
  if (child < 0) return ScoutReport::Lost;
  if (child == 0) {
    become_scout();
    return std::nullopt;
  }
  int status = 0;
  // Not waitpid(), which may be the program's, or one that we put in its place.
  while (syscall(SYS_wait4, child, &status, __WALL, nullptr) < 0)
    if (errno != EINTR) return ScoutReport::Lost;
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) return ScoutReport::Stopped;
  if (!WIFEXITED(status)) return ScoutReport::Lost;
  return WEXITSTATUS(status) == kFits ? ScoutReport::Fits : WEXITSTATUS(status) == kDiffers ? ScoutReport::Differs : ScoutReport::Lost;
}

void scout_found(bool fits) { end(fits ? kFits : kDiffers); }

}  // namespace reprise::engine
