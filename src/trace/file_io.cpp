#include "trace/file_io.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace reprise::trace {

void Fd::reset() {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

int move_high(int fd) {
  for (const int lowest : {400, 200, 100}) {
    const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, lowest);
    if (moved < 0) continue;
    ::close(fd);
    return moved;
  }
  return fd;
}

int open_file(int dir_fd, const char* name, int flags) {
  int fd;
  do {
    fd = ::openat(dir_fd, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return -errno;
  struct stat facts;
  if (::fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    ::close(fd);
    return -EINVAL;
  }
  return move_high(fd);
}

int write_all(int fd, const void* data, std::size_t size, std::uint64_t offset) {
  auto* from = static_cast<const std::uint8_t*>(data);
  while (size > 0) {
    const ssize_t written = ::pwrite(fd, from, size, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (written == 0) return ENOSPC;
    from += written;
    offset += static_cast<std::uint64_t>(written);
    size -= static_cast<std::size_t>(written);
  }
  return 0;
}

std::int64_t read_all(int fd, void* data, std::size_t size, std::uint64_t offset) {
  auto* to = static_cast<std::uint8_t*>(data);
  std::size_t done = 0;
  while (done < size) {
    const ssize_t got = ::pread(fd, to + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0) {
      if (errno == EINTR) continue;
      return -errno;
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return static_cast<std::int64_t>(done);
}

int reserve_space(int fd, std::uint64_t size) {
  if (const int error = check_size_limit(size)) return error;
  int error;
  do {
    error = ::posix_fallocate(fd, 0, static_cast<off_t>(size));
  } while (error == EINTR);
  return error;
}

int check_size_limit(std::uint64_t size) {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && size > limit.rlim_cur) return EFBIG;
  return 0;
}

FileId file_id(int fd) {
  struct stat facts;
  if (fd < 0 || ::fstat(fd, &facts) != 0) return {};
  return {static_cast<std::uint64_t>(facts.st_dev), static_cast<std::uint64_t>(facts.st_ino)};
}

bool remove_file(int dir_fd, const char* name) { return ::unlinkat(dir_fd, name, 0) == 0; }

}  // namespace reprise::trace
