#include "frontends/threads/lock_facts.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frontends/sys/program_caller.hpp"

namespace reprise::threads {
namespace {

template <class Object>
bool read_object(std::uint64_t address, Object& out) {
  iovec to{&out, sizeof out};
  iovec from{reinterpret_cast<void*>(address), sizeof out};
  const auto self = static_cast<pid_t>(::syscall(SYS_getpid));
  return process_vm_readv(self, &to, 1, &from, 1, 0) == static_cast<ssize_t>(sizeof out);
}

constexpr int kProcessShared = 128;  // in the kind of a mutex

}  // namespace

int mutex_owner(std::uint64_t address) {
  pthread_mutex_t mutex;
  if (!read_object(address, mutex) || mutex.__data.__kind & kProcessShared) return 0;
  return mutex.__data.__owner;
}

Access rwlock_holder(std::uint64_t address, int& writer) {
  pthread_rwlock_t lock;
  if (!read_object(address, lock) || lock.__data.__shared) return Access::None;
  writer = lock.__data.__cur_writer;
  if (writer != 0) return Access::Writer;
  return lock.__data.__readers >> 3 ? Access::Readers : Access::None;
}

bool is_shared_condition(std::uint64_t address) {
  pthread_cond_t condition;
  return !read_object(address, condition) || condition.__data.__wrefs & 1;
}

bool has_signal_handlers() {
  for (int signal = 1; signal <= SIGRTMAX; ++signal) {
    switch (signal) {
      case SIGSEGV:
      case SIGBUS:
      case SIGFPE:
      case SIGILL:
      case SIGABRT:
      case SIGTRAP:
      case SIGSYS: continue;  // those come from what a thread does itself
      default: break;
    }
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;  // the C library's own
    if (action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN) continue;
    if (sys::called_by_program(reinterpret_cast<const void*>(action.sa_handler))) return true;
  }
  return false;
}

}  // namespace reprise::threads
