#include "frontends/access_modules.hpp"

#include <algorithm>
#include <atomic>

#include "base/spin.hpp"

namespace reprise::frontends {
namespace {

constexpr std::size_t kMaxModules = 512;

struct Quick {
  std::uintptr_t begin = 0;
  std::uintptr_t span = 0;
  std::uintptr_t others = 0;
};

struct Modules {
  std::atomic_flag lock;
  reprise_access* all[kMaxModules] = {};
  std::size_t count = 0;
  AccessFollower follower;
  std::uintptr_t begin = 0;
  std::uintptr_t span = 0;
  Quick quick;
  bool passes_all = false;
  bool has_threads = false;
};
constinit Modules g_modules;

void put(std::uintptr_t& word, std::uintptr_t value) { std::atomic_ref(word).store(value, std::memory_order_relaxed); }

// A hook of another thread may read these at any moment. What is passed on by mistake is looked at again there.
void set_filter(reprise_access& module) {
  const bool all = g_modules.passes_all;
  put(module.span, 0);
  put(module.begin, all ? 0 : g_modules.begin);
  put(module.span, all ? UINTPTR_MAX : g_modules.span);
  put(module.quick_span, 0);
  put(module.quick_begin, g_modules.quick.begin);
  put(module.others, g_modules.quick.others);
  put(module.quick_span, all || g_modules.has_threads ? 0 : g_modules.quick.span);
}

void set_filters() {
  for (std::size_t i = 0; i < g_modules.count; ++i) set_filter(*g_modules.all[i]);
}

void follow(reprise_access& module) {
  module.load = g_modules.follower.load;
  module.store = g_modules.follower.store;
  module.atomic = g_modules.follower.atomic;
}

}  // namespace

constinit reprise_loads g_loads{0, UINT64_MAX};

void count_quickly(std::uintptr_t begin, std::uintptr_t span, std::uintptr_t others) {
  if (g_modules.quick.begin == begin && g_modules.quick.span == span && g_modules.quick.others == others) return;
  g_modules.quick = {begin, span, others};
  set_filters();
}

void has_more_threads() {
  g_modules.has_threads = true;
  set_filters();
}

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
  module->loads = &g_loads;
  g_modules.all[g_modules.count++] = module;
  if (g_modules.follower.load) set_filters();
}
