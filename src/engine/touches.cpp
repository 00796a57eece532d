#include "engine/touches.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace reprise::engine {

Result<std::unique_ptr<Touches>> Touches::map(int fd, const char* name) {
  void* const memory = fd < 0 ? MAP_FAILED : mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  if (fd >= 0) close(fd);
  if (memory == MAP_FAILED) return Error{std::string(name) + ": " + std::strerror(error)};
  return std::unique_ptr<Touches>(new Touches(static_cast<Shared*>(memory)));
}

Result<std::unique_ptr<Touches>> Touches::make(int dir_fd, const char* name) {
  const int fd = openat(dir_fd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  // All of it at once: on a full disk, memory of a file with holes would end the program (SIGBUS).
  if (const int error = fd < 0 ? 0 : posix_fallocate(fd, 0, sizeof(Shared)); error != 0) {
    close(fd);
    unlinkat(dir_fd, name, 0);
    return Error{std::string(name) + ": " + std::strerror(error)};
  }
  return map(fd, name);
}

Result<std::unique_ptr<Touches>> Touches::join(int dir_fd, const char* name) {
  return map(openat(dir_fd, name, O_RDWR | O_CLOEXEC), name);
}

Touches::~Touches() { munmap(shared_, sizeof(Shared)); }

bool Touches::add(const Touch& touch) {
  std::uint64_t at = shared_->tail.load(std::memory_order_relaxed);
  for (;;) {
    Slot& slot = shared_->slots[at % kSlots];
    const std::uint64_t turn = slot.turn.load(std::memory_order_acquire) + at % kSlots;
    if (turn < at) {
      lose();
      return false;
    }
    if (turn > at) {
      at = shared_->tail.load(std::memory_order_relaxed);
      continue;
    }
    if (!shared_->tail.compare_exchange_weak(at, at + 1, std::memory_order_release, std::memory_order_relaxed)) continue;
    slot.touch = touch;
    slot.turn.store(at + 1 - at % kSlots, std::memory_order_release);
    return true;
  }
}

bool Touches::take(Touch& out) {
  std::uint64_t head = shared_->head.load(std::memory_order_relaxed);
  const std::uint64_t tail = shared_->tail.load(std::memory_order_acquire);
  for (std::uint64_t at = head; at < tail; ++at) {
    Slot& slot = shared_->slots[at % kSlots];
    if (taken_[at % kSlots] || slot.turn.load(std::memory_order_acquire) + at % kSlots != at + 1) continue;
    out = slot.touch;
    taken_[at % kSlots] = true;
    for (; head < tail && taken_[head % kSlots]; ++head) {
      taken_[head % kSlots] = false;
      shared_->slots[head % kSlots].turn.store(head + kSlots - head % kSlots, std::memory_order_release);
    }
    shared_->head.store(head, std::memory_order_relaxed);
    return true;
  }
  return false;
}

}  // namespace reprise::engine
