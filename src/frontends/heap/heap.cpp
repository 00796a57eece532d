// libreprise-heap.so: stands before the program's malloc where what it allocates must be known (explore, lint). Every
// call goes on to the next malloc of the program; nothing else changes.
#include <dlfcn.h>
#include <malloc.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "frontends/heap/allocations.hpp"

#define REPRISE_EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

constinit reprise::heap::Allocations g_allocations;

// dlsym may itself ask for memory before it has found anybody who has some. It never gives it back.
alignas(16) char g_first_room[4096];
std::atomic<std::size_t> g_first_used;

void* from_first_room(std::size_t size) {
  const std::size_t at = g_first_used.fetch_add((size + 15) / 16 * 16);
  return at + size <= sizeof g_first_room ? g_first_room + at : nullptr;
}

bool is_in_first_room(const void* block) {
  const auto at = reinterpret_cast<std::uintptr_t>(block) - reinterpret_cast<std::uintptr_t>(g_first_room);
  return at < sizeof g_first_room;
}

__attribute__((tls_model("initial-exec"))) thread_local bool t_looking = false;

template <class Function>
class Next {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}
  // Null while dlsym is looking for it.
  Function get() {
    Function known = known_.load(std::memory_order_relaxed);
    if (known || t_looking) return known;
    t_looking = true;
    known = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
    t_looking = false;
    if (!known) std::abort();
    known_.store(known, std::memory_order_relaxed);
    return known;
  }

 private:
  const char* name_;
  std::atomic<Function> known_{nullptr};
};

constinit Next<void* (*)(std::size_t)> g_malloc("malloc");
constinit Next<void (*)(void*)> g_free("free");
constinit Next<void* (*)(std::size_t, std::size_t)> g_calloc("calloc");
constinit Next<void* (*)(void*, std::size_t)> g_realloc("realloc");
constinit Next<int (*)(void**, std::size_t, std::size_t)> g_posix_memalign("posix_memalign");
constinit Next<void* (*)(std::size_t, std::size_t)> g_aligned_alloc("aligned_alloc");
constinit Next<void* (*)(std::size_t, std::size_t)> g_memalign("memalign");
constinit Next<void* (*)(std::size_t)> g_valloc("valloc");
constinit Next<std::size_t (*)(void*)> g_usable_size("malloc_usable_size");

void* remember(void* block, std::size_t size) {
  if (!block) return block;
  const auto usable = g_usable_size.get();
  const std::size_t room = usable ? usable(block) : size;
  g_allocations.add(reinterpret_cast<std::uintptr_t>(block), room > size ? room - size : 0);
  return block;
}

}  // namespace

REPRISE_EXPORTED void* malloc(std::size_t size) {
  const auto next = g_malloc.get();
  return next ? remember(next(size), size) : from_first_room(size);
}

REPRISE_EXPORTED void free(void* block) {
  if (!block || is_in_first_room(block)) return;
  g_allocations.remove(reinterpret_cast<std::uintptr_t>(block));
  const int error = errno;  // programs may rely on free() leaving it alone, as glibc does
  if (const auto next = g_free.get()) next(block);
  errno = error;
}

REPRISE_EXPORTED void* calloc(std::size_t count, std::size_t size) {
  const auto next = g_calloc.get();
  if (next) return remember(next(count, size), count * size);
  return from_first_room(count * size);  // static memory is zero
}

REPRISE_EXPORTED void* realloc(void* block, std::size_t size) {
  if (is_in_first_room(block)) {
    void* const moved = malloc(size);
    const auto left = static_cast<std::size_t>(g_first_room + sizeof g_first_room - static_cast<char*>(block));
    if (moved) std::memcpy(moved, block, size < left ? size : left);
    return moved;
  }
  const auto next = g_realloc.get();
  if (!next) return from_first_room(size);
  // Another thread may get the old block's place at once, so it is forgotten before.
  const auto usable = g_usable_size.get();
  const std::size_t before = block && usable ? usable(block) : 0;
  if (block) g_allocations.remove(reinterpret_cast<std::uintptr_t>(block));
  void* const moved = next(block, size);
  if (!moved && block && size != 0) return remember(block, before), nullptr;
  return remember(moved, size);
}

REPRISE_EXPORTED void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

REPRISE_EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  const auto next = g_posix_memalign.get();
  const int error = next ? next(block, alignment, size) : ENOMEM;
  if (error == 0) remember(*block, size);
  return error;
}

REPRISE_EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t size) {
  const auto next = g_aligned_alloc.get();
  return next ? remember(next(alignment, size), size) : nullptr;
}

REPRISE_EXPORTED void* memalign(std::size_t alignment, std::size_t size) {
  const auto next = g_memalign.get();
  return next ? remember(next(alignment, size), size) : nullptr;
}

REPRISE_EXPORTED void* valloc(std::size_t size) {
  const auto next = g_valloc.get();
  return next ? remember(next(size), size) : nullptr;
}

// For the preload library: what lies there was allocated as a part of this. No: it is no such memory.
REPRISE_EXPORTED bool reprise_allocation_at(const void* address, std::uintptr_t* begin, std::size_t* size) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  const auto found = g_allocations.last_before(at);
  const auto usable = g_usable_size.get();
  if (!found || !usable) return false;
  const std::size_t room = usable(reinterpret_cast<void*>(found->begin));
  if (room < found->spare || at - found->begin >= room) return false;
  *begin = found->begin;
  *size = room - found->spare;
  return true;
}
