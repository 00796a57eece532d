#include "frontends/access_modules.hpp"

#include <algorithm>
#include <atomic>

#include "base/spin.hpp"

namespace reprise::frontends {
namespace {

constexpr std::size_t kMaxModules = 512;

struct Modules {
  std::atomic_flag lock;
  reprise_access* all[kMaxModules] = {};
  std::size_t count = 0;
  AccessFollower follower;
  std::uintptr_t begin = 0;
  std::uintptr_t span = 0;
  bool passes_all = false;
};
constinit Modules g_modules;

// A hook may read the two at any moment. What is passed on by mistake is looked at again there.
void set_filter(reprise_access& module, std::uintptr_t begin, std::uintptr_t span) {
  std::atomic_ref(module.span).store(std::min(span, std::atomic_ref(module.span).load(std::memory_order_relaxed)), std::memory_order_relaxed);
  std::atomic_ref(module.begin).store(begin, std::memory_order_relaxed);
  std::atomic_ref(module.span).store(span, std::memory_order_relaxed);
}

void set_filters() {
  const bool all = g_modules.passes_all;
  for (std::size_t i = 0; i < g_modules.count; ++i)
    set_filter(*g_modules.all[i], all ? 0 : g_modules.begin, all ? UINTPTR_MAX : g_modules.span);
}

void follow(reprise_access& module) {
  module.load = g_modules.follower.load;
  module.store = g_modules.follower.store;
  module.atomic = g_modules.follower.atomic;
}

}  // namespace

bool has_hooks() { return g_modules.count > 0; }

void follow_accesses(const AccessFollower& follower, std::uintptr_t begin, std::uintptr_t end) {
  const Spin spin(&g_modules.lock);
  g_modules.follower = follower;
  g_modules.begin = begin;
  g_modules.span = end - begin;
  for (std::size_t i = 0; i < g_modules.count; ++i) follow(*g_modules.all[i]);
  set_filters();
}

void pass_all_accesses() {
  g_modules.passes_all = true;
  set_filters();
}

void pass_followed_accesses() {
  g_modules.passes_all = false;
  set_filters();
}

}  // namespace reprise::frontends

// Called by a module when it is loaded, perhaps before anything of ours has begun.
extern "C" __attribute__((visibility("default"))) void reprise_access_module(reprise_access* module) {
  using namespace reprise::frontends;
  const reprise::Spin spin(&g_modules.lock);
  if (module->version != REPRISE_ACCESS_VERSION || g_modules.count == kMaxModules) return;
  follow(*module);
  g_modules.all[g_modules.count++] = module;
  if (g_modules.follower.load) set_filters();
}
