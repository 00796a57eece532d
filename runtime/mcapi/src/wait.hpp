// Waiting: a little by looking again, then asleep.
#pragma once

#include <algorithm>

#include "local_node.hpp"

namespace mcapi {

// Whether to look for a moment before going to sleep: not after that was in vain some times, as on a machine that has other things to
// do. Now and then it is tried again.
class Patience {
 public:
  bool has_some() {
    if (in_vain_ < kEnough) return kMayLook;
    if (++rested_ < kRest) return false;
    rested_ = 0;
    in_vain_ = kEnough - 1;
    return kMayLook;
  }
  void paid_off() { in_vain_ = 0; }
  void was_in_vain() { ++in_vain_; }

 private:
  static constexpr unsigned kEnough = 3;
  static constexpr unsigned kRest = 32;
  static const bool kMayLook;  // on one processor, whoever is waited for needs it
  unsigned in_vain_ = 0;
  unsigned rested_ = 0;
};
extern thread_local Patience t_patience;

// Until it rings, for as long as a sleeping peer takes to answer. False: it has not.
bool look_out(const std::atomic<std::uint32_t>& bell, std::uint32_t heard);

template <class Done>
bool wait_until(LocalNode& node, mcapi_timeout_t timeout, Done done) {
  constexpr std::int64_t kNap = 50;  // then it looks for those that died
  std::atomic<std::uint32_t>& bell = universe().nodes[node.index].bell;
  std::int64_t until = -1;  // the clock is not asked before it is needed
  bool looks = false;
  for (bool first = true;; first = false) {
    const std::uint32_t heard = bell.load(std::memory_order_seq_cst);
    {
      const std::lock_guard guard(node.lock);
      progress(node);
      if (done()) {
        if (looks) t_patience.paid_off();
        return true;
      }
    }
    if (timeout == MCAPI_TIMEOUT_IMMEDIATE) return false;
    if (first) looks = t_patience.has_some();
    if (looks && look_out(bell, heard)) continue;
    if (looks) t_patience.was_in_vain();
    looks = false;
    const std::int64_t time = now();
    if (until < 0) until = timeout == MCAPI_TIMEOUT_INFINITE ? INT64_MAX : time + timeout;
    if (time >= until) return false;
    await_bell(node.index, heard, std::min(kNap, until - time));
    look_for_dead();
  }
}

}  // namespace mcapi
