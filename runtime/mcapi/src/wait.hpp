// Waiting: a little by looking again, then asleep.
#pragma once

#include <algorithm>

#include "local_node.hpp"

namespace mcapi {

void relax();  // between two looks

// How often to look before going to sleep: more where that paid off, less where it did not, as on a machine that has other things
// to do. Now and then it is tried again.
class Patience {
 public:
  unsigned looks() { return (++waits_ & 31) == 0 ? kMost / 4 : looks_; }
  void paid_off() { looks_ = looks_ < kMost / 2 ? 2 * looks_ + 1 : kMost; }
  void did_not() { looks_ /= 2; }

 private:
  static const unsigned kMost;  // on one processor, whoever is waited for needs it
  unsigned looks_ = 0;
  unsigned waits_ = 0;
};
extern thread_local Patience t_patience;

template <class Done>
bool wait_until(LocalNode& node, mcapi_timeout_t timeout, Done done) {
  constexpr std::int64_t kNap = 50;  // then it looks for those that died
  std::atomic<std::uint32_t>& bell = universe().nodes[node.index].bell;
  std::int64_t until = -1;  // the clock is not asked before it is needed
  unsigned most = 0;
  for (unsigned looks = 0;; ++looks) {
    const std::uint32_t heard = bell.load(std::memory_order_seq_cst);
    {
      const std::lock_guard guard(node.lock);
      progress(node);
      if (done()) {
        if (looks > 0 && until < 0) t_patience.paid_off();
        return true;
      }
    }
    if (timeout == MCAPI_TIMEOUT_IMMEDIATE) return false;
    if (looks == 0) most = t_patience.looks();
    if (looks < most) {
      for (unsigned i = 0; i < 64 && bell.load(std::memory_order_relaxed) == heard; ++i) relax();
      continue;
    }
    const std::int64_t time = now();
    if (until < 0 && most > 0) t_patience.did_not();
    if (until < 0) until = timeout == MCAPI_TIMEOUT_INFINITE ? INT64_MAX : time + timeout;
    if (time >= until) return false;
    await_bell(node.index, heard, std::min(kNap, until - time));
    look_for_dead();
  }
}

}  // namespace mcapi
