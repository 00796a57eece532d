#include "base/tasks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace reprise {
namespace {

// The beginning of a file of /proc/self/task/ID; false if it cannot be read.
template <std::size_t kSize>
bool read_beginning(int id, const char* name, char (&text)[kSize]) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/%s", id, name);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t size = read(fd, text, kSize - 1);
  close(fd);
  text[size > 0 ? size : 0] = '\0';
  return size > 0;
}

}  // namespace

int own_task() { return static_cast<int>(::syscall(SYS_gettid)); }

char task_state(int id) {
  char text[512];
  if (!read_beginning(id, "stat", text)) return '?';
  const char* const name_ends = std::strrchr(text, ')');
  return name_ends && name_ends[1] == ' ' ? name_ends[2] : '?';
}

bool task_waits_in_futex(int id) {
  char text[64];
  if (task_state(id) != 'S') return false;
  return !read_beginning(id, "syscall", text) || std::atoi(text) == SYS_futex;
}

bool each_task(const std::function<void(int id)>& visit) {
  DIR* const tasks = opendir("/proc/self/task");
  if (!tasks) return false;
  while (const dirent* const entry = readdir(tasks))
    if (const int id = std::atoi(entry->d_name); id > 0) visit(id);
  closedir(tasks);
  return true;
}

bool is_last_task() {
  const int self = own_task();
  if (task_state(static_cast<int>(::syscall(SYS_getpid))) != 'Z') return false;
  bool others = false;
  const bool known = each_task([&](int id) { others |= id != self && task_state(id) != 'Z'; });
  return known && !others;
}

}  // namespace reprise
