// Holds a flag while it lives; none, if it is given none. For moments that are too short, or places too delicate (inside
// malloc, inside the functions of pthread that we interpose), for a mutex.
#pragma once

#include <sched.h>

#include <atomic>

namespace reprise {

class Spin {
 public:
  explicit Spin(std::atomic_flag* flag) : flag_(flag) {
    if (flag_)
      while (flag_->test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~Spin() {
    if (flag_) flag_->clear(std::memory_order_release);
  }
  Spin(const Spin&) = delete;
  Spin& operator=(const Spin&) = delete;

 private:
  std::atomic_flag* flag_;
};

}  // namespace reprise
