// The locks of OpenMP in an explored rank (staged.hpp). A critical section of libgomp cannot be tried, so its place is
// taken by one of our own; whoever is inside is known from that.
#include "engine/baton.hpp"
#include "frontends/sys/next.hpp"
#include "frontends/threads/staged.hpp"

namespace reprise::threads {

using engine::Baton;
using sys::Next;

namespace staged {
namespace {

constinit Next<void()> g_critical_start{"GOMP_critical_start"};
constinit Next<void()> g_critical_end{"GOMP_critical_end"};
constinit Next<void(void**)> g_named_start{"GOMP_critical_name_start"};
constinit Next<void(void**)> g_named_end{"GOMP_critical_name_end"};
constinit Next<void()> g_atomic_start{"GOMP_atomic_start"};
constinit Next<void()> g_atomic_end{"GOMP_atomic_end"};

bool g_in_critical = false;
bool g_in_atomic = false;

void take(bool& flag, Next<void()>& real) {
  if (!is_on_stage()) return real();
  Baton::get().until([&] { return !flag; });
  flag = true;
}

// Somebody may have entered before the first thread was made.
void let_go(bool& flag, Next<void()>& real) {
  if (!is_on_stage() || !flag) return real();
  flag = false;
}

}  // namespace

void critical_start() { take(g_in_critical, g_critical_start); }
void critical_end() { let_go(g_in_critical, g_critical_end); }
void atomic_start() { take(g_in_atomic, g_atomic_start); }
void atomic_end() { let_go(g_in_atomic, g_atomic_end); }

// The word that belongs to the name is null unless somebody is inside.
void named_critical_start(void** name) {
  if (!is_on_stage()) return g_named_start(name);
  Baton::get().until([&] { return *name == nullptr; });
  *name = name;
}
void named_critical_end(void** name) {
  if (*name == name) *name = nullptr;
  else g_named_end(name);
}

}  // namespace staged
}  // namespace reprise::threads
