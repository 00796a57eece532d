// The functions behind ours: the next definition of the same name, looked up once.
//
// Looked up when the library is loaded into a process that may be recorded, because a first call may come from inside
// malloc or from a signal handler, where looking up is not safe; elsewhere when first called.
#pragma once

#include <dlfcn.h>

#include <atomic>

// Defines a function of the system under a name of our own, so that no declaration in a header gets in the way.
// Not inline, or its caller would not be who called it.
#define REPRISE_INTERPOSES(symbol) __asm__(symbol) __attribute__((visibility("default"), noinline))
#define REPRISE_RETURN_ADDRESS __builtin_return_address(0)

namespace reprise::sys {

template <class Function>
class Next {
 public:
  // `version`: the definition of that version, where there is one.
  constexpr explicit Next(const char* name, const char* version = nullptr) : name_(name), version_(version) {}

  // Null if nobody else has it.
  Function* find() {
    Function* known = known_.load(std::memory_order_relaxed);
    if (!known) [[unlikely]] {
      void* found = version_ ? dlvsym(RTLD_NEXT, name_, version_) : nullptr;
      if (!found) found = dlsym(RTLD_NEXT, name_);
      known = reinterpret_cast<Function*>(found);
      known_.store(known, std::memory_order_relaxed);
    }
    return known;
  }
  bool is_known() const { return known_.load(std::memory_order_relaxed) != nullptr; }
  // From now on this stands behind ours.
  void replace(Function* other) { known_.store(other, std::memory_order_relaxed); }
  template <class... Arguments>
  auto operator()(Arguments... arguments) {
    return find()(arguments...);
  }

 private:
  const char* name_;
  const char* version_;
  std::atomic<Function*> known_{nullptr};
};

}  // namespace reprise::sys
