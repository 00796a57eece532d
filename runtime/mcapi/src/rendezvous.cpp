#include "rendezvous.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace mcapi {
namespace {

// Abstract: its name begins with a zero byte, and it is in no directory.
socklen_t address_of(const std::string& name, sockaddr_un& out) {
  out = {};
  out.sun_family = AF_UNIX;
  std::memcpy(out.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

int new_socket() { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int bound_socket(const std::string& name) {
  const int made = new_socket();
  sockaddr_un address;
  const socklen_t size = address_of(name, address);
  if (made >= 0 && bind(made, reinterpret_cast<const sockaddr*>(&address), size) == 0) return made;
  const int error = errno;
  if (made >= 0) close(made);
  errno = error;
  return -1;
}

std::string process_name(const std::string& name, std::uint32_t process) { return name + "-" + std::to_string(process); }

// The process that listens there. It does not have to accept anything.
pid_t listener(const std::string& name) {
  const int caller = new_socket();
  if (caller < 0) return 0;
  sockaddr_un address;
  const socklen_t size = address_of(name, address);
  ucred who = {};
  socklen_t room = sizeof who;
  const bool is_there = connect(caller, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
                        getsockopt(caller, SOL_SOCKET, SO_PEERCRED, &who, &room) == 0 && who.uid == getuid();
  close(caller);
  return is_there ? who.pid : 0;
}

int open_memory_of(pid_t process, const std::string& name) {
  const std::string directory = "/proc/" + std::to_string(process) + "/fd";
  const std::string wanted = "/memfd:" + name + " (deleted)";
  DIR* const files = opendir(directory.c_str());
  if (!files) return -1;
  int found = -1;
  while (const dirent* const entry = readdir(files)) {
    char target[512];
    const std::string path = directory + "/" + entry->d_name;
    const ssize_t size = readlink(path.c_str(), target, sizeof target);
    if (size < 0 || std::string(target, static_cast<std::size_t>(size)) != wanted) continue;
    found = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (found >= 0) break;
  }
  closedir(files);
  return found;
}

}  // namespace

std::string universe_name() {
  constexpr std::size_t kMost = 80;  // the address of a socket has 108 bytes
  const char* const given = getenv("MCAPI_UNIVERSE");
  return ("mcapi-" + std::to_string(getuid()) + "-" + (given && *given ? given : "default")).substr(0, kMost);
}

RendezvousLock::RendezvousLock(const std::string& name) {
  constexpr int kSeconds = 10;
  for (int i = 0; i < kSeconds * 1000; ++i) {
    socket_ = bound_socket(name + "-lock");
    if (socket_ >= 0 || errno != EADDRINUSE) return;
    const timespec pause{0, 1000000};
    nanosleep(&pause, nullptr);
  }
}

RendezvousLock::~RendezvousLock() {
  if (socket_ >= 0) close(socket_);
}

int find_memory(const std::string& name, std::uint32_t most_processes) {
  for (std::uint32_t i = 0; i < most_processes; ++i) {
    const pid_t process = listener(process_name(name, i));
    if (process == 0) continue;
    const int found = open_memory_of(process, name);
    if (found >= 0) return found;
  }
  return -1;
}

int make_memory(const std::string& name, std::size_t size) {
  const int made = memfd_create(name.c_str(), MFD_CLOEXEC);
  if (made >= 0 && ftruncate(made, static_cast<off_t>(size)) == 0) return made;
  if (made >= 0) close(made);
  return -1;
}

int be_found(const std::string& name, std::uint32_t process) {
  const int made = bound_socket(process_name(name, process));
  if (made >= 0 && listen(made, SOMAXCONN) == 0) return made;
  if (made >= 0) close(made);
  return -1;
}

}  // namespace mcapi
