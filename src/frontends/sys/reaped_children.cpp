// How did a rank end? Only its parent can say: the launcher's process that started it. The preload library is loaded
// there too, and writes down what the launcher's own wait calls return, one line per child, into the trace's file
// `exits`. In a replay it tells the replay command of those that did not end well (engine/supervision.hpp). It changes
// nothing, and is silent in every process that is a rank itself.
#include <arpa/inet.h>
#include <cerrno>
#include <cstdio>
#include <dlfcn.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frontends/sys/exits.hpp"
#include "frontends/sys/read.hpp"

#define REPRISE_INTERPOSED __attribute__((visibility("default")))

namespace {

using reprise::engine::Mode;
using reprise::engine::Session;

// A shell may wait for its children inside a signal handler: everything that allocates or locks is done beforehand.
template <class Real>
Real next(const char* name) {
  return reinterpret_cast<Real>(dlsym(RTLD_NEXT, name));
}

pid_t (*g_waitpid)(pid_t, int*, int);
pid_t (*g_wait)(int*);
pid_t (*g_wait4)(pid_t, int*, int, struct rusage*);
int (*g_waitid)(idtype_t, id_t, siginfo_t*, int);

// Where the replay command may be reached, and its token.
constexpr std::size_t kMaxAddresses = 8;
sockaddr_in g_monitor[kMaxAddresses];
std::size_t g_monitors = 0;
char g_token[64];

void prepare_monitor(const std::string& address) {
  const auto parts = reprise::engine::split(address, ':');
  std::uint16_t port = 0;
  if (parts.size() != 3 || !reprise::engine::parse_number(parts[1], port)) return;
  for (const auto host : reprise::engine::split(parts[0], ',')) {
    sockaddr_in& at = g_monitor[g_monitors];
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    if (inet_pton(AF_INET, std::string(host).c_str(), &at.sin_addr) == 1 && ++g_monitors == kMaxAddresses) break;
  }
  std::snprintf(g_token, sizeof g_token, "%.*s", static_cast<int>(parts[2].size()), parts[2].data());
}

__attribute__((constructor)) void prepare() {
  if (g_waitid) return;
  g_waitpid = next<decltype(g_waitpid)>("waitpid");
  g_wait = next<decltype(g_wait)>("wait");
  g_wait4 = next<decltype(g_wait4)>("wait4");
  g_waitid = next<decltype(g_waitid)>("waitid");
  reprise::sys::be_born();
  reprise::sys::prepare_exits();
  const auto& configuration = Session::get().configuration();
  if (configuration.mode == Mode::Replay) prepare_monitor(configuration.monitor);
}

void tell_monitor(pid_t pid, int status) {
  char line[128];
  const int size = std::snprintf(line, sizeof line, "ended %s %d %d\n", g_token, static_cast<int>(pid), status);
  for (std::size_t i = 0; i < g_monitors; ++i) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    const timeval patience{0, 300000};  // a launcher has other things to do
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    const bool told = connect(fd, reinterpret_cast<const sockaddr*>(&g_monitor[i]), sizeof g_monitor[i]) == 0 &&
                      send(fd, line, static_cast<std::size_t>(size), MSG_NOSIGNAL) == size;
    close(fd);
    if (told) return;
  }
}

void write_down(pid_t pid, int status) {
  if (reprise::engine::mode() != Mode::Armed || (!WIFEXITED(status) && !WIFSIGNALED(status))) return;
  const int saved = errno;
  if (g_monitors > 0 && status != 0) tell_monitor(pid, status);
  errno = saved;
  reprise::sys::write_exit(pid, status);
}

}  // namespace

extern "C" {

REPRISE_INTERPOSED pid_t waitpid(pid_t pid, int* status, int options) {
  if (!g_waitpid) prepare();
  int own = 0;
  const pid_t child = g_waitpid(pid, status ? status : &own, options);
  if (child > 0) write_down(child, status ? *status : own);
  return child;
}

REPRISE_INTERPOSED pid_t wait(int* status) {
  if (!g_wait) prepare();
  int own = 0;
  const pid_t child = g_wait(status ? status : &own);
  if (child > 0) write_down(child, status ? *status : own);
  return child;
}

REPRISE_INTERPOSED pid_t wait4(pid_t pid, int* status, int options, struct rusage* usage) {
  if (!g_wait4) prepare();
  int own = 0;
  const pid_t child = g_wait4(pid, status ? status : &own, options, usage);
  if (child > 0) write_down(child, status ? *status : own);
  return child;
}

REPRISE_INTERPOSED int waitid(idtype_t type, id_t id, siginfo_t* info, int options) {
  if (!g_waitid) prepare();
  const int result = g_waitid(type, id, info, options);
  if (result == 0 && info && info->si_pid > 0 && !(options & WNOWAIT)) {
    if (info->si_code == CLD_EXITED) write_down(info->si_pid, W_EXITCODE(info->si_status, 0));
    else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
      write_down(info->si_pid, W_EXITCODE(0, info->si_status));
  }
  return result;
}

}  // extern "C"
