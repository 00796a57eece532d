// While it lives, the running thread cannot be cancelled: what we do in somebody else's thread (files are opened and
// read) would be places to end it that the program does not have.
#pragma once

#include <pthread.h>

namespace reprise {

class NoCancellation {
 public:
  NoCancellation() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NoCancellation() { pthread_setcancelstate(before_, nullptr); }
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

}  // namespace reprise
