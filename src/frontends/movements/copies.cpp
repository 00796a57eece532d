// memcpy and its kin. They are called all the time, and long before anybody is attached: so nothing here but a load, a
// branch and a jump to the next one.
#include <cstdint>

#include "frontends/movements/next.hpp"

extern "C" [[noreturn]] void __chk_fail();  // glibc's, where a copy does not fit

namespace {

using namespace reprise::movements;

using Copy = void* (*)(void*, const void*, std::size_t);

// While dlsym looks for the next one. Volatile: the compiler must not make a call of memcpy from it.
void* copy_slowly(void* to, const void* from, std::size_t bytes) {
  auto* const out = static_cast<volatile std::uint8_t*>(to);
  const auto* const in = static_cast<const volatile std::uint8_t*>(from);
  if (reinterpret_cast<std::uintptr_t>(to) <= reinterpret_cast<std::uintptr_t>(from)) {
    for (std::size_t i = 0; i < bytes; ++i) out[i] = in[i];
  } else {
    for (std::size_t i = bytes; i > 0; --i) out[i - 1] = in[i - 1];
  }
  return to;
}

void* first_memcpy(void* to, const void* from, std::size_t bytes);
void* first_memmove(void* to, const void* from, std::size_t bytes);
constinit std::atomic<Copy> g_memcpy{&first_memcpy};
constinit std::atomic<Copy> g_memmove{&first_memmove};

void look_for(std::atomic<Copy>& function, const char* name) {
  function.store(&copy_slowly, std::memory_order_relaxed);
  if (const auto found = reinterpret_cast<Copy>(dlsym(RTLD_NEXT, name))) function.store(found, std::memory_order_relaxed);
}

void* first_memcpy(void* to, const void* from, std::size_t bytes) {
  look_for(g_memcpy, "memcpy");
  return g_memcpy.load(std::memory_order_relaxed)(to, from, bytes);
}

void* first_memmove(void* to, const void* from, std::size_t bytes) {
  look_for(g_memmove, "memmove");
  return g_memmove.load(std::memory_order_relaxed)(to, from, bytes);
}

__attribute__((noinline)) void tell(void* to, const void* from, std::size_t bytes, const void* caller) {
  if (const Hooks* const hooks = g_hooks.load(std::memory_order_acquire)) hooks->copies(to, from, bytes, caller);
}

inline void saw(void* to, const void* from, std::size_t bytes, const void* caller) {
  if (g_active.load(std::memory_order_relaxed) != 0) [[unlikely]]
    tell(to, from, bytes, caller);
}

inline void* copy(void* to, const void* from, std::size_t bytes, const void* caller) {
  saw(to, from, bytes, caller);
  return g_memcpy.load(std::memory_order_relaxed)(to, from, bytes);
}

inline void* move(void* to, const void* from, std::size_t bytes, const void* caller) {
  saw(to, from, bytes, caller);
  return g_memmove.load(std::memory_order_relaxed)(to, from, bytes);
}

void check(std::size_t bytes, std::size_t room) {
  if (bytes > room) __chk_fail();
}

}  // namespace

REPRISE_EXPORTED void* memcpy(void* to, const void* from, std::size_t bytes) { return copy(to, from, bytes, REPRISE_CALLER); }

REPRISE_EXPORTED void* memmove(void* to, const void* from, std::size_t bytes) { return move(to, from, bytes, REPRISE_CALLER); }

REPRISE_EXPORTED void* mempcpy(void* to, const void* from, std::size_t bytes) {
  return static_cast<char*>(copy(to, from, bytes, REPRISE_CALLER)) + bytes;
}

REPRISE_EXPORTED void* __mempcpy(void* to, const void* from, std::size_t bytes) {
  return static_cast<char*>(copy(to, from, bytes, REPRISE_CALLER)) + bytes;
}

REPRISE_EXPORTED void* __memcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
  check(bytes, room);
  return copy(to, from, bytes, REPRISE_CALLER);
}

REPRISE_EXPORTED void* __memmove_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
  check(bytes, room);
  return move(to, from, bytes, REPRISE_CALLER);
}

REPRISE_EXPORTED void* __mempcpy_chk(void* to, const void* from, std::size_t bytes, std::size_t room) {
  check(bytes, room);
  return static_cast<char*>(copy(to, from, bytes, REPRISE_CALLER)) + bytes;
}
