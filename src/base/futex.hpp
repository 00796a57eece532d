// Sleeping until a word of shared memory changes. Any process may have it mapped.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>

namespace reprise {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

// Returns at once if the word is another one already; and now and then for no reason.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t while_value, const std::timespec* timeout = nullptr) {
  syscall(SYS_futex, &word, FUTEX_WAIT, while_value, timeout, nullptr, 0);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int how_many = INT_MAX) {
  syscall(SYS_futex, &word, FUTEX_WAKE, how_many, nullptr, nullptr, 0);
}

}  // namespace reprise
