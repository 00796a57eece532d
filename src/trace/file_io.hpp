// Files of a trace: opened below the trace's directory only, and read and written whole.
//
// The descriptors live inside somebody else's program. They are moved to high numbers, so that the program's own
// files get the numbers that they would have without Reprise, and their identity is checked before a write, because
// a program may close descriptors that it does not know and then get the same numbers for files of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/result.hpp"

namespace reprise::trace {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  void reset();

 private:
  int fd_ = -1;
};

struct FileId {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileId&) const = default;
};

// Moves a descriptor out of the program's way, as high as the process's limit allows.
int move_high(int fd);

// A descriptor (moved high), or -errno. Symbolic links are not followed; anything but a regular file is ELOOP, EINVAL
// or the like, and a FIFO does not block.
int open_file(int dir_fd, const char* name, int flags);

// Zero or errno.
int write_all(int fd, const void* data, std::size_t size, std::uint64_t offset);
// Bytes read, fewer only at the end of the file, or -errno.
std::int64_t read_all(int fd, void* data, std::size_t size, std::uint64_t offset);
// Zero or errno. Space that is reserved cannot run out later.
int reserve_space(int fd, std::uint64_t size);
// EFBIG where a write up to `size` would raise SIGXFSZ, which would kill the program.
int check_size_limit(std::uint64_t size);

FileId file_id(int fd);
bool remove_file(int dir_fd, const char* name);

}  // namespace reprise::trace
