// syscall(): some libraries (UCX maps shared memory that way) ask the kernel past libc's functions.
#include <sys/mman.h>
#include <sys/syscall.h>

#include <cstdarg>

#include "frontends/movements/next.hpp"
#include "frontends/movements/other_memory.hpp"
#include "frontends/movements/streams.hpp"

namespace {

using namespace reprise::movements;

constinit Next<long(long, ...)> g_syscall("syscall");

struct Arguments {
  long all[6];
  template <class T>
  T pointer(int index) const {
    return reinterpret_cast<T>(all[index]);
  }
  std::size_t size(int index) const { return static_cast<std::size_t>(all[index]); }
  int number(int index) const { return static_cast<int>(all[index]); }
  Pieces pieces(int index) const { return {pointer<const iovec*>(index), size(index + 1)}; }
  iovec piece() const { return {pointer<void*>(1), size(2)}; }
};

void saw(long number, const Arguments& with, long result, std::uint64_t began, const void* caller) {
  const iovec piece = with.piece();
  switch (number) {
    case SYS_mmap:
      if (result != -1 && (with.number(3) & (MAP_SHARED | MAP_FIXED)))
        mapped(reinterpret_cast<const void*>(result), with.size(1), (with.number(3) & MAP_SHARED) != 0);
      break;
#ifdef SYS_shmat
    case SYS_shmat:
      if (result != -1) mapped(reinterpret_cast<const void*>(result), 0, true);
      break;
#endif
    case SYS_process_vm_readv: pulled(with.number(0), with.pieces(1), with.pieces(3), result, caller); break;
    case SYS_process_vm_writev: pushed(with.number(0), with.pieces(1), with.pieces(3), result, caller); break;
    case SYS_readv: did_read(with.number(0), with.pieces(1), result, caller); break;
    case SYS_writev: wrote(with.number(0), with.pieces(1), result, began, caller); break;
    case SYS_read: did_read(with.number(0), {&piece, 1}, result, caller); break;
    case SYS_write: wrote(with.number(0), {&piece, 1}, result, began, caller); break;
    case SYS_sendto: wrote(with.number(0), {&piece, 1}, result, began, caller); break;
    case SYS_recvfrom: did_read(with.number(0), {&piece, 1}, result, caller); break;
    default: break;
  }
}

}  // namespace

REPRISE_EXPORTED long syscall(long number, ...) {
  std::va_list list;
  va_start(list, number);
  Arguments with;
  for (long& one : with.all) one = va_arg(list, long);
  va_end(list);
  if (number == SYS_munmap) unmapped(with.pointer<const void*>(0), with.size(1));
#ifdef SYS_shmdt
  if (number == SYS_shmdt) unmapped(with.pointer<const void*>(0), 0);
#endif
  if (number == SYS_close) forget_stream(with.number(0));
  const std::uint64_t began = beginning();
  const long result = g_syscall(number, with.all[0], with.all[1], with.all[2], with.all[3], with.all[4], with.all[5]);
  saw(number, with, result, began, REPRISE_CALLER);
  return result;
}
