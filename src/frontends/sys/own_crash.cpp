#include "frontends/sys/own_crash.hpp"

#include <cstdio>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/crash_signals.hpp"
#include "engine/mode.hpp"
#include "frontends/sys/exits.hpp"

namespace reprise::sys {
namespace {

pid_t g_pid;  // getpid() is one of ours, and not for signal handlers

// A parent whose maps may not be read runs as somebody else, so the loader has not obeyed our environment there.
bool parent_takes_notes() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/maps", static_cast<int>(getppid()));
  std::FILE* maps = std::fopen(path, "re");
  if (!maps) return false;
  char line[4096 + 256];
  bool found = false;
  while (!found && std::fgets(line, sizeof line, maps))
    found = std::strstr(line, "/libreprise-") || std::strstr(line, "/reprise\n");  // or the record command itself
  std::fclose(maps);
  return found;
}

}  // namespace

void note_own_crash() {
  if (parent_takes_notes()) return;
  g_pid = getpid();
  engine::before_crash([](int signal, const void*) {
    // A forked child is no rank.
    if (engine::mode() == engine::Mode::Record) write_exit(g_pid, W_EXITCODE(0, signal));
  });
}

}  // namespace reprise::sys
