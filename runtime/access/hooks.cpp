// What compilers call before each load and store of a program that is compiled with -fsanitize=thread, without libtsan.
//
// The filter is all that most accesses get to: a subtraction, a comparison and a return. What is behind it is called, never inlined:
// that would make every hook save registers (a stencil took twice as long).
#include "access.h"

#include <dlfcn.h>

#define HOOK extern "C" __attribute__((visibility("hidden"), noinline))

// Found by its name in the symbol table of a program that is not stripped, and by its section in one that is.
extern "C" {
__attribute__((visibility("hidden"), used, section(".reprise_access"))) struct reprise_access reprise_access_of_this_module = {
    REPRISE_ACCESS_VERSION, 0, 0, 0, 0, 0, 0, 0, 0, 0, nullptr, nullptr, nullptr, nullptr};
}

namespace {

reprise_access& g_access = reprise_access_of_this_module;

__attribute__((constructor(101))) void look_for_follower() {
  using Register = void (*)(reprise_access*);
  if (const auto add = reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, REPRISE_ACCESS_REGISTRATION))) add(&g_access);
}

__attribute__((destructor(101))) void leave_follower() {
  using Leave = void (*)(reprise_access*);
  if (const auto leave = reinterpret_cast<Leave>(dlsym(RTLD_DEFAULT, REPRISE_ACCESS_END))) leave(&g_access);
}

inline bool is_looked_at(const void* address) { return reinterpret_cast<uintptr_t>(address) - g_access.begin < g_access.span; }

// A range may begin before memory that is followed, and end in it.
inline bool is_looked_at(const void* address, size_t size) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  return size > 0 && (at - g_access.begin < g_access.span || (at < g_access.begin && size > g_access.begin - at));
}

// All of it: others may have nothing behind it.
template <size_t kSize>
inline bool is_quick(const void* address) {
  const uintptr_t at = reinterpret_cast<uintptr_t>(address) - g_access.quick_begin;
  return at < g_access.quick_span && g_access.quick_span - at >= kSize;
}

// Beside a store that waits: it is looked at only for that.
inline bool is_nobodys(const void* address) {
  return reinterpret_cast<uintptr_t>(address) - g_access.followed_begin >= g_access.followed_span && ++g_access.state->idle < REPRISE_IDLE;
}

// Loads may have any address, and the program's types.
#define ANYWHERE __attribute__((may_alias, aligned(1)))
typedef uint8_t ANYWHERE Value1;
typedef uint16_t ANYWHERE Value2;
typedef uint32_t ANYWHERE Value4;
typedef uint64_t ANYWHERE Value8;

template <class Value>
inline bool is_as_known(uintptr_t at) {
  return *reinterpret_cast<const Value*>(at) == *reinterpret_cast<const Value*>(at + g_access.others);
}

template <size_t kSize>
inline bool is_as_known(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  if constexpr (kSize == 1) return is_as_known<Value1>(at);
  else if constexpr (kSize == 2) return is_as_known<Value2>(at);
  else if constexpr (kSize == 4) return is_as_known<Value4>(at);
  else if constexpr (kSize == 8) return is_as_known<Value8>(at);
  else return is_as_known<Value8>(at) && is_as_known<Value8>(at + 8);
}

template <class Value>
inline bool publish(uintptr_t at) {
  using Aliased [[gnu::may_alias]] = Value;
  const uintptr_t others = at + g_access.others;
  if ((others | at) % sizeof(Value) != 0) return false;
  const Value value = *reinterpret_cast<const Aliased*>(at);
  // In order with the next one, as the program's own barriers may want it: they were before this.
  __atomic_store_n(reinterpret_cast<Aliased*>(others), value, __ATOMIC_RELEASE);
  *reinterpret_cast<Aliased*>(at + g_access.agreed) = value;
  return true;
}

// False: somebody else must do it.
inline bool publish_waiting(reprise_state* state) {
  if (g_access.quick_stores != REPRISE_STORES_WAIT) return false;
  const bool done = state->waiting_size == 8 ? publish<uint64_t>(state->waiting) : state->waiting_size == 4 && publish<uint32_t>(state->waiting);
  if (done) state->waiting = 0;
  return done;
}

// Not even a call, if nothing is new.
template <size_t kSize>
inline void loads(const void* address) {
  if (__builtin_expect(!is_looked_at(address), 1)) return;
  reprise_state* const state = g_access.state;
  if (state->waiting != 0 && !publish_waiting(state)) return g_access.load(address, kSize);
  if (is_quick<kSize>(address)) {
    const uint64_t number = state->loads + 1;
    if (__builtin_expect(is_as_known<kSize>(address) && number != state->next_load, 1)) {
      state->loads = number;
      return;
    }
  } else if (is_nobodys(address)) {
    return;
  }
  g_access.load(address, kSize);
}

template <size_t kSize>
inline void stores(void* address) {
  if (__builtin_expect(!is_looked_at(address), 1)) return;
  reprise_state* const state = g_access.state;
  if (state->waiting != 0 && !publish_waiting(state)) return g_access.store(address, kSize);
  if (is_quick<kSize>(address)) {
    if (g_access.quick_stores == REPRISE_STORES_ARE_NOBODYS) return;
    if (g_access.quick_stores == REPRISE_STORES_WAIT && g_access.span == UINTPTR_MAX) {
      state->waiting = reinterpret_cast<uintptr_t>(address);
      state->waiting_size = kSize;
      state->idle = 0;
      return;
    }
  } else if (is_nobodys(address)) {
    return;
  }
  g_access.store(address, kSize);
}

// A store that waits for the next hook is not to wait for a function that makes no access.
inline void stored() {
  if (__builtin_expect(g_access.span == UINTPTR_MAX, 0)) g_access.load(nullptr, 0);
}

}  // namespace

#define OF_SIZE(size)                                                                      \
  HOOK void __tsan_read##size(void* address) { loads<size>(address); }                     \
  HOOK void __tsan_write##size(void* address) { stores<size>(address); }                   \
  HOOK void __tsan_volatile_read##size(void* address) { loads<size>(address); }            \
  HOOK void __tsan_volatile_write##size(void* address) { stores<size>(address); }          \
  HOOK void __tsan_unaligned_read##size(void* address) { loads<size>(address); }           \
  HOOK void __tsan_unaligned_write##size(void* address) { stores<size>(address); }         \
  HOOK void __tsan_unaligned_volatile_read##size(void* address) { loads<size>(address); }  \
  HOOK void __tsan_unaligned_volatile_write##size(void* address) { stores<size>(address); } \
  HOOK void __tsan_read_write##size(void* address) {                                       \
    loads<size>(address);                                                                  \
    stores<size>(address);                                                                 \
  }                                                                                        \
  HOOK void __tsan_unaligned_read_write##size(void* address) { __tsan_read_write##size(address); }
OF_SIZE(1)
OF_SIZE(2)
OF_SIZE(4)
OF_SIZE(8)
OF_SIZE(16)

HOOK void __tsan_read_range(void* address, size_t size) {
  if (is_looked_at(address, size)) g_access.load(address, size);
}
HOOK void __tsan_write_range(void* address, size_t size) {
  if (is_looked_at(address, size)) g_access.store(address, size);
}

HOOK void __tsan_init() {}
HOOK void __tsan_func_entry(void*) {}
HOOK void __tsan_func_exit() {
  if (__builtin_expect(g_access.span == UINTPTR_MAX, 0) && (g_access.state->waiting != 0 || g_access.quick_span == 0)) g_access.load(nullptr, 0);
}
HOOK void __tsan_vptr_update(void** address, void*) { stores<sizeof *address>(address); }
HOOK void __tsan_vptr_read(void** address) { loads<sizeof *address>(address); }
HOOK void __tsan_ignore_thread_begin() {}
HOOK void __tsan_ignore_thread_end() {}

// --- copies, which compilers and programs leave to the C library (ld --wrap) -------------------------------------------

extern "C" {
void* __real_memcpy(void*, const void*, size_t);
void* __real_memmove(void*, const void*, size_t);
void* __real_memset(void*, int, size_t);
}

#define COPY(name)                                                                    \
  HOOK void* __wrap_##name(void* to, const void* from, size_t size) {                 \
    if (__builtin_expect(is_looked_at(from, size), 0)) g_access.load(from, size);      \
    if (__builtin_expect(!is_looked_at(to, size), 1)) return __real_##name(to, from, size); \
    g_access.store(to, size);                                                         \
    __real_##name(to, from, size);                                                    \
    stored();                                                                         \
    return to;                                                                        \
  }
COPY(memcpy)
COPY(memmove)

HOOK void* __wrap_memset(void* to, int value, size_t size) {
  if (__builtin_expect(!is_looked_at(to, size), 1)) return __real_memset(to, value, size);
  g_access.store(to, size);
  __real_memset(to, value, size);
  stored();
  return to;
}

extern "C" __attribute__((noreturn)) void abort(void);

#define CHECKED(name, source)                                                          \
  HOOK void* __wrap___##name##_chk(void* to, source from, size_t size, size_t room) {  \
    if (size > room) abort();                                                          \
    return __wrap_##name(to, from, size);                                              \
  }
CHECKED(memcpy, const void*)
CHECKED(memmove, const void*)
CHECKED(memset, int)

// Clang's from version 15 on.
HOOK void* __tsan_memcpy(void* to, const void* from, size_t size) { return __wrap_memcpy(to, from, size); }
HOOK void* __tsan_memmove(void* to, const void* from, size_t size) { return __wrap_memmove(to, from, size); }
HOOK void* __tsan_memset(void* to, int value, size_t size) { return __wrap_memset(to, value, size); }
