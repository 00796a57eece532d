#include "frontends/sys/exits.hpp"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "engine/session.hpp"

namespace reprise::sys {
namespace {

char g_path[PATH_MAX];
char g_host[256];

}  // namespace

void prepare_exits() {
  gethostname(g_host, sizeof g_host - 1);
  const auto& configuration = engine::Session::get().configuration();
  if (configuration.mode == engine::Mode::Record)
    std::snprintf(g_path, sizeof g_path, "%s/exits", configuration.directory.c_str());
}

void write_exit(pid_t pid, int wait_status) {
  if (g_path[0] == '\0') return;
  const int saved = errno;
  const int fd = open(g_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd >= 0) {
    char line[320];
    const int size = std::snprintf(line, sizeof line, "%s %d %d\n", g_host, static_cast<int>(pid), wait_status);
    if (write(fd, line, static_cast<std::size_t>(size)) < 0) {
      // Nothing to be done: how this process ended stays unknown.
    }
    close(fd);
  }
  errno = saved;
}

}  // namespace reprise::sys
