#include "virtual/stage.hpp"

#include <climits>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reprise::virtual_world {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(Seat) == 72 || sizeof(Seat) % 8 == 0);

void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t while_value, const std::timespec* timeout) {
  syscall(SYS_futex, &word, FUTEX_WAIT, while_value, timeout, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word, int how_many) {
  syscall(SYS_futex, &word, FUTEX_WAKE, how_many, nullptr, nullptr, 0);
}

}  // namespace reprise::virtual_world
