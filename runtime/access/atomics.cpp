// Atomic operations of a program that is compiled with -fsanitize=thread: compilers leave them to the runtime.
//
// They are always sequentially consistent here: what the program asked for is no stronger.
#include "access.h"

#include <type_traits>

#define HOOK extern "C" __attribute__((visibility("hidden")))

extern "C" __attribute__((visibility("hidden"))) struct reprise_access reprise_access_of_this_module;

namespace {

using Wide = unsigned __int128;

// Compilers leave operations of 16 bytes to libatomic, which is not everywhere. What was there.
Wide compare_exchange(Wide* at, Wide expected, Wide desired) {
  auto before_low = static_cast<uint64_t>(expected), before_high = static_cast<uint64_t>(expected >> 64);
  const auto low = static_cast<uint64_t>(desired), high = static_cast<uint64_t>(desired >> 64);
#if defined(__x86_64__)
  __asm__ volatile("lock cmpxchg16b %0" : "+m"(*at), "+a"(before_low), "+d"(before_high) : "b"(low), "c"(high) : "cc", "memory");
#elif defined(__aarch64__)
  const uint64_t expected_low = before_low, expected_high = before_high;
  uint64_t next_low, next_high;
  uint32_t failed;
  // Both halves are one only if they are stored again, too.
  __asm__ volatile(
      "1: ldaxp %0, %1, [%5]\n"
      "   cmp %0, %6\n"
      "   ccmp %1, %7, #0, eq\n"
      "   csel %2, %8, %0, eq\n"
      "   csel %3, %9, %1, eq\n"
      "   stlxp %w4, %2, %3, [%5]\n"
      "   cbnz %w4, 1b\n"
      : "=&r"(before_low), "=&r"(before_high), "=&r"(next_low), "=&r"(next_high), "=&r"(failed)
      : "r"(at), "r"(expected_low), "r"(expected_high), "r"(low), "r"(high)
      : "cc", "memory");
#else
#error "no atomic operation of 16 bytes is known for this processor"
#endif
  return static_cast<Wide>(before_high) << 64 | before_low;
}

template <class Value>
Value combined(reprise_atomic_kind kind, Value old, Value operand) {
  switch (kind) {
    case REPRISE_ATOMIC_ADD: return static_cast<Value>(old + operand);
    case REPRISE_ATOMIC_SUB: return static_cast<Value>(old - operand);
    case REPRISE_ATOMIC_AND: return old & operand;
    case REPRISE_ATOMIC_OR: return old | operand;
    case REPRISE_ATOMIC_XOR: return old ^ operand;
    case REPRISE_ATOMIC_NAND: return static_cast<Value>(~(old & operand));
    default: return operand;
  }
}

template <class Value>
Value perform_now(reprise_atomic_kind kind, Value* at, Value operand, Value expected) {
  constexpr int kOrder = __ATOMIC_SEQ_CST;
  if constexpr (std::is_same_v<Value, Wide>) {
    if (kind == REPRISE_ATOMIC_COMPARE_EXCHANGE) return compare_exchange(at, expected, operand);
    Value old = compare_exchange(at, 0, 0);
    while (kind != REPRISE_ATOMIC_LOAD) {
      const Value found = compare_exchange(at, old, combined(kind, old, operand));
      if (found == old) break;
      old = found;
    }
    return old;
  } else {
    switch (kind) {
      case REPRISE_ATOMIC_LOAD: return __atomic_load_n(at, kOrder);
      case REPRISE_ATOMIC_STORE:  // what was there is asked for by those who follow
      case REPRISE_ATOMIC_EXCHANGE: return __atomic_exchange_n(at, operand, kOrder);
      case REPRISE_ATOMIC_ADD: return __atomic_fetch_add(at, operand, kOrder);
      case REPRISE_ATOMIC_SUB: return __atomic_fetch_sub(at, operand, kOrder);
      case REPRISE_ATOMIC_AND: return __atomic_fetch_and(at, operand, kOrder);
      case REPRISE_ATOMIC_OR: return __atomic_fetch_or(at, operand, kOrder);
      case REPRISE_ATOMIC_XOR: return __atomic_fetch_xor(at, operand, kOrder);
      case REPRISE_ATOMIC_NAND: return __atomic_fetch_nand(at, operand, kOrder);
      case REPRISE_ATOMIC_COMPARE_EXCHANGE:
        __atomic_compare_exchange_n(at, &expected, operand, false, kOrder, kOrder);
        return expected;
    }
    return 0;
  }
}

template <class Value>
void perform_for_follower(reprise_atomic* one, void* memory) {
  *static_cast<Value*>(one->before) =
      perform_now(one->kind, static_cast<Value*>(memory), *static_cast<Value*>(one->operand), *static_cast<Value*>(one->expected));
}

template <class Value>
Value perform(reprise_atomic_kind kind, volatile Value* at, Value operand, Value expected = 0) {
  Value* const address = const_cast<Value*>(at);
  const reprise_access& access = reprise_access_of_this_module;
  if (__builtin_expect(reinterpret_cast<uintptr_t>(address) - access.begin >= access.span, 1))
    return perform_now(kind, address, operand, expected);
  Value before = 0;
  reprise_atomic one{kind, sizeof(Value), &operand, &expected, &before, perform_for_follower<Value>};
  access.atomic(address, &one);
  return before;
}

}  // namespace

#define READ_MODIFY_WRITE(bits, Value, name, kind) \
  HOOK Value __tsan_atomic##bits##_##name(volatile Value* at, Value operand, int) { return perform<Value>(kind, at, operand); }

#define OF_BITS(bits, Value)                                                                                             \
  HOOK Value __tsan_atomic##bits##_load(const volatile Value* at, int) {                                                 \
    return perform<Value>(REPRISE_ATOMIC_LOAD, const_cast<volatile Value*>(at), 0);                                      \
  }                                                                                                                      \
  HOOK void __tsan_atomic##bits##_store(volatile Value* at, Value operand, int) {                                        \
    perform<Value>(REPRISE_ATOMIC_STORE, at, operand);                                                                   \
  }                                                                                                                      \
  READ_MODIFY_WRITE(bits, Value, exchange, REPRISE_ATOMIC_EXCHANGE)                                                      \
  READ_MODIFY_WRITE(bits, Value, fetch_add, REPRISE_ATOMIC_ADD)                                                          \
  READ_MODIFY_WRITE(bits, Value, fetch_sub, REPRISE_ATOMIC_SUB)                                                          \
  READ_MODIFY_WRITE(bits, Value, fetch_and, REPRISE_ATOMIC_AND)                                                          \
  READ_MODIFY_WRITE(bits, Value, fetch_or, REPRISE_ATOMIC_OR)                                                            \
  READ_MODIFY_WRITE(bits, Value, fetch_xor, REPRISE_ATOMIC_XOR)                                                          \
  READ_MODIFY_WRITE(bits, Value, fetch_nand, REPRISE_ATOMIC_NAND)                                                        \
  HOOK Value __tsan_atomic##bits##_compare_exchange_val(volatile Value* at, Value expected, Value operand, int, int) {   \
    return perform<Value>(REPRISE_ATOMIC_COMPARE_EXCHANGE, at, operand, expected);                                       \
  }                                                                                                                      \
  HOOK int __tsan_atomic##bits##_compare_exchange_strong(volatile Value* at, Value* expected, Value operand, int, int) { \
    const Value before = perform<Value>(REPRISE_ATOMIC_COMPARE_EXCHANGE, at, operand, *expected);                        \
    const bool same = before == *expected;                                                                               \
    *expected = before;                                                                                                  \
    return same;                                                                                                         \
  }                                                                                                                      \
  HOOK int __tsan_atomic##bits##_compare_exchange_weak(volatile Value* at, Value* expected, Value operand, int, int) {   \
    return __tsan_atomic##bits##_compare_exchange_strong(at, expected, operand, 0, 0);                                   \
  }
OF_BITS(8, uint8_t)
OF_BITS(16, uint16_t)
OF_BITS(32, uint32_t)
OF_BITS(64, uint64_t)
OF_BITS(128, Wide)

// What was stored before it is to be seen before it.
HOOK void __tsan_atomic_thread_fence(int) {
  if (__builtin_expect(reprise_access_of_this_module.span == UINTPTR_MAX, 0)) reprise_access_of_this_module.load(nullptr, 0);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
HOOK void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }
