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
  QuickMemory quick;
  bool passes_all = false;
  bool has_threads = false;
};
constinit Modules g_modules;

void put(std::uintptr_t& word, std::uintptr_t value) { std::atomic_ref(word).store(value, std::memory_order_relaxed); }

// A hook of another thread may read these at any moment. What is passed on by mistake is looked at again there.
void set_filter(reprise_access& module) {
  // With threads, every access of theirs: none of them may miss one while another changes this.
  const bool all = g_modules.passes_all || (g_modules.has_threads && g_modules.span > 0);
  put(module.span, 0);
  put(module.begin, all ? 0 : g_modules.begin);
  put(module.span, all ? UINTPTR_MAX : g_modules.span);
  put(module.followed_begin, g_modules.begin);
  put(module.followed_span, g_modules.span);
  const QuickMemory& quick = g_modules.quick;
  put(module.quick_span, 0);
  put(module.quick_begin, quick.begin);
  put(module.others, quick.others);
  put(module.agreed, quick.agreed);
  module.quick_stores = quick.stores;
  put(module.quick_span, g_modules.has_threads ? 0 : quick.span);
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

constinit reprise_state g_state{0, UINT64_MAX, 0, 0, 0};

void be_quick_in(const QuickMemory& memory) {
  if (g_modules.quick == memory) return;
  g_modules.quick = memory;
  set_filters();
}

void has_more_threads() {
  if (g_modules.has_threads) return;
  if (g_modules.follower.publish) g_modules.follower.publish();
  g_modules.has_threads = true;
  {
    const Spin spin(&g_modules.lock);
    set_filters();
  }
  if (g_modules.follower.publish) g_modules.follower.publish();  // so that it is this thread that goes on with what was counted
}

bool is_threaded() { return g_modules.has_threads; }

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
  if (g_modules.passes_all) return;
  g_modules.passes_all = true;
  set_filters();
}

void pass_followed_accesses() {
  if (!g_modules.passes_all) return;
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
  module->state = &g_state;
  g_modules.all[g_modules.count++] = module;
  if (g_modules.follower.load) set_filters();
}

extern "C" __attribute__((visibility("default"))) void reprise_access_module_gone(reprise_access* module) {
  using namespace reprise::frontends;
  const reprise::Spin spin(&g_modules.lock);
  reprise_access** const end = g_modules.all + g_modules.count;
  g_modules.count = static_cast<std::size_t>(std::remove(g_modules.all, end, module) - g_modules.all);
}
