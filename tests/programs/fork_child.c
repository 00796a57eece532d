// A rank that forks, before and after MPI_Init: a child is somebody else. It gets real numbers, its signals reach the
// right process, and nothing that it reads gets into the log of its parent.
#include <signal.h>
#include <sys/wait.h>

#include "common.h"

static volatile sig_atomic_t signalled;
static void on_signal(int signal) {
  (void)signal;
  signalled = 1;
}

// 0 if the child found everything as it should be.
static int child(pid_t parent) {
  const pid_t real = (pid_t)syscall(SYS_getpid);
  if (getpid() != real) return 1;
  if (getppid() != (pid_t)syscall(SYS_getppid)) return 2;
  struct timespec mine, raw;
  clock_gettime(CLOCK_MONOTONIC, &mine);
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &raw);
  const double apart = (double)(raw.tv_sec - mine.tv_sec) + 1e-9 * (double)(raw.tv_nsec - mine.tv_nsec);
  if (apart < 0 || apart > 30) return 3;
  for (int i = 0; i < 1000; ++i) time(NULL);
  if (kill(parent, SIGUSR1)) return 4;
  return 0;
}

static int have_child(void) {
  const pid_t me = getpid();
  signalled = 0;
  const pid_t pid = fork();
  if (pid < 0) die("fork");
  if (pid == 0) _exit(child(me));
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  while (!signalled) usleep(100);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int argc, char** argv) {
  signal(SIGUSR1, on_signal);
  const time_t early = time(NULL);
  const int first = have_child();
  const pid_t pid = getpid();
  start(&argc, &argv);
  say("early %lld, pid %d, child %d", (long long)early, (int)pid, first);
  for (int i = 0; i < 3; ++i) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    say("%lld.%09ld child %d", (long long)now.tv_sec, now.tv_nsec, have_child());
  }
  finish();
}
