// How did a rank end? Only its parent can say: the launcher's process that started it. The preload library is loaded
// there too, and writes down what the launcher's own wait calls return, one line per child, into the trace's file
// `exits`. It changes nothing, and is silent in every process that is a rank itself.
#include <cerrno>
#include <cstdio>
#include <dlfcn.h>
#include <fcntl.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/session.hpp"

#define REPRISE_INTERPOSED __attribute__((visibility("default")))

namespace {

using reprise::engine::Mode;
using reprise::engine::Session;

void write_down(pid_t pid, int status) {
  if (reprise::engine::mode() != Mode::Armed || (!WIFEXITED(status) && !WIFSIGNALED(status))) return;
  const auto& configuration = Session::get().configuration();
  if (configuration.mode != Mode::Record) return;
  const int saved = errno;
  const int fd = open((configuration.directory + "/exits").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd >= 0) {
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    char line[320];
    const int size = std::snprintf(line, sizeof line, "%s %d %d\n", host, static_cast<int>(pid), status);
    if (write(fd, line, static_cast<std::size_t>(size)) < 0) {
      // Nothing to be done: how this child ended stays unknown.
    }
    close(fd);
  }
  errno = saved;
}

template <class Real>
Real next(const char* name) {
  return reinterpret_cast<Real>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

REPRISE_INTERPOSED pid_t waitpid(pid_t pid, int* status, int options) {
  static const auto real = next<pid_t (*)(pid_t, int*, int)>("waitpid");
  int own = 0;
  const pid_t child = real(pid, status ? status : &own, options);
  if (child > 0) write_down(child, status ? *status : own);
  return child;
}

REPRISE_INTERPOSED pid_t wait(int* status) {
  static const auto real = next<pid_t (*)(int*)>("wait");
  int own = 0;
  const pid_t child = real(status ? status : &own);
  if (child > 0) write_down(child, status ? *status : own);
  return child;
}

REPRISE_INTERPOSED pid_t wait4(pid_t pid, int* status, int options, struct rusage* usage) {
  static const auto real = next<pid_t (*)(pid_t, int*, int, struct rusage*)>("wait4");
  int own = 0;
  const pid_t child = real(pid, status ? status : &own, options, usage);
  if (child > 0) write_down(child, status ? *status : own);
  return child;
}

REPRISE_INTERPOSED int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  static const auto real = next<int (*)(idtype_t, id_t, siginfo_t*, int)>("waitid");
  const int result = real(type, id, info, options);
  if (result == 0 && info && info->si_pid > 0 && !(options & WNOWAIT)) {
    if (info->si_code == CLD_EXITED) write_down(info->si_pid, W_EXITCODE(info->si_status, 0));
    else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED) write_down(info->si_pid, W_EXITCODE(0, info->si_status));
  }
  return result;
}

}  // extern "C"
