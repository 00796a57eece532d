// Whether memory is there at all, for whoever must look at what is not his.
#pragma once

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace reprise {

// The system walks its maps, not the pages. By syscall(): the C library's msync is a point at which threads are cancelled.
inline bool is_mapped(const void* at, std::size_t bytes) {
  if (bytes == 0) return true;
  const int before = errno;
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t page = begin & ~(static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE)) - 1);
  const bool mapped = ::syscall(SYS_msync, page, bytes + (begin - page), MS_ASYNC) == 0 || errno != ENOMEM;
  errno = before;
  return mapped;
}

}  // namespace reprise
