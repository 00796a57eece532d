// Memory that other processes have, too: mapped by both, or reached through the kernel (CMA).
#include "frontends/movements/other_memory.hpp"

#include <sys/mman.h>
#include <sys/shm.h>

#include "frontends/movements/next.hpp"

namespace reprise::movements {

void pulled(pid_t process, Pieces own, Pieces theirs, ssize_t bytes, const void* caller) {
  const KeptErrno kept;
  const Hooks* const hooks = bytes > 0 ? listener() : nullptr;
  if (hooks) hooks->pulled(process, own, theirs, static_cast<std::size_t>(bytes), caller);
}

void pushed(pid_t process, Pieces own, Pieces theirs, ssize_t bytes, const void* caller) {
  const KeptErrno kept;
  const Hooks* const hooks = bytes > 0 ? listener() : nullptr;
  if (hooks) hooks->pushed(process, own, theirs, static_cast<std::size_t>(bytes), caller);
}

// Told whether somebody is in MPI or not: it counts from now on.
void mapped(const void* address, std::size_t bytes, bool shared) {
  const KeptErrno kept;
  if (const Hooks* const hooks = g_hooks.load(std::memory_order_acquire)) hooks->mapped(address, bytes, shared);
}

void unmapped(const void* address, std::size_t bytes) { mapped(address, bytes, false); }

}  // namespace reprise::movements

namespace {

using namespace reprise::movements;

constinit Next<void(void*)> g_free("free");
__attribute__((tls_model("initial-exec"))) thread_local bool t_looking = false;
constinit Next<void*(void*, std::size_t, int, int, int, off_t)> g_mmap("mmap");
constinit Next<int(void*, std::size_t)> g_munmap("munmap");
constinit Next<void*(int, const void*, int)> g_shmat("shmat");
constinit Next<int(const void*)> g_shmdt("shmdt");
constinit Next<ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long)> g_readv("process_vm_readv");
constinit Next<ssize_t(pid_t, const iovec*, unsigned long, const iovec*, unsigned long, unsigned long)> g_writev("process_vm_writev");

void* map(void* address, std::size_t bytes, int access, int flags, int fd, off_t offset) {
  void* const made = g_mmap(address, bytes, access, flags, fd, offset);
  // Memory of its own that is put over shared memory is gone from there, too.
  if (made != MAP_FAILED && (flags & (MAP_SHARED | MAP_FIXED))) mapped(made, bytes, (flags & MAP_SHARED) != 0);
  return made;
}

}  // namespace

REPRISE_EXPORTED void free(void* block) {
  if (!block || t_looking) return;  // dlsym has some memory of its own to give back, once
  if (g_active.load(std::memory_order_relaxed) != 0) [[unlikely]] {
    const KeptErrno kept;
    if (const Hooks* const hooks = listener()) hooks->frees(block, REPRISE_CALLER);
  }
  if (!g_free.is_known()) {
    t_looking = true;
    g_free.find();
    t_looking = false;
  }
  g_free(block);
}

REPRISE_EXPORTED void* mmap(void* address, std::size_t bytes, int access, int flags, int fd, off_t offset) {
  return map(address, bytes, access, flags, fd, offset);
}

REPRISE_EXPORTED void* mmap64(void* address, std::size_t bytes, int access, int flags, int fd, off64_t offset) {
  return map(address, bytes, access, flags, fd, offset);
}

REPRISE_EXPORTED int munmap(void* address, std::size_t bytes) {
  unmapped(address, bytes);
  return g_munmap(address, bytes);
}

REPRISE_EXPORTED void* shmat(int id, const void* address, int flags) {
  void* const made = g_shmat(id, address, flags);
  if (made != reinterpret_cast<void*>(-1)) mapped(made, 0, true);
  return made;
}

REPRISE_EXPORTED int shmdt(const void* address) {
  unmapped(address, 0);
  return g_shmdt(address);
}

REPRISE_EXPORTED ssize_t process_vm_readv(pid_t process, const iovec* own, unsigned long own_count, const iovec* theirs,
                                          unsigned long their_count, unsigned long flags) {
  const ssize_t done = g_readv(process, own, own_count, theirs, their_count, flags);
  pulled(process, {own, own_count}, {theirs, their_count}, done, REPRISE_CALLER);
  return done;
}

REPRISE_EXPORTED ssize_t process_vm_writev(pid_t process, const iovec* own, unsigned long own_count, const iovec* theirs,
                                           unsigned long their_count, unsigned long flags) {
  const ssize_t done = g_writev(process, own, own_count, theirs, their_count, flags);
  pushed(process, {own, own_count}, {theirs, their_count}, done, REPRISE_CALLER);
  return done;
}
