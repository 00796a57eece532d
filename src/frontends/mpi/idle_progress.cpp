// MPICH waits by asking UCX again and again (give_way.hpp). Here every such wait gives way, whatever call it is in.
//
// There may be several UCX in a process, each with its own workers (Python's packages bring one along), so who asks must get the
// one that it would have got without us.
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "frontends/mpi/give_way.hpp"
#include "frontends/sys/next.hpp"

#define REPRISE_PROGRESS "ucp_worker_progress"

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker);

namespace {

using Progress = unsigned(void* worker);

constexpr int kPatience = 20;  // questions in a row that found nothing to do
thread_local int t_idle __attribute__((tls_model("initial-exec"))) = 0;

Progress* found_in(const char* library) {
  void* const handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);  // stays: what is called must
  if (!handle) return nullptr;
  auto* const found = reinterpret_cast<Progress*>(dlsym(handle, REPRISE_PROGRESS));
  if (found && found != &ucp_worker_progress) return found;
  dlclose(handle);
  return nullptr;
}

// In the order in which the loader would have looked.
[[gnu::noinline, gnu::cold]] Progress* find_behind(const void* caller) {
  if (void* const next = dlsym(RTLD_NEXT, REPRISE_PROGRESS)) return reinterpret_cast<Progress*>(next);
  Dl_info info{};
  if (dladdr(caller, &info) && info.dli_fname)
    if (Progress* const found = found_in(info.dli_fname)) return found;
  // A caller that has left by a jump, or that needs UCX without saying so.
  if (Progress* const found = found_in("libucp.so.0")) return found;
  std::fprintf(stderr, "reprise: " REPRISE_PROGRESS " of UCX is called, but not found\n");
  _exit(125);
}

// One library that asks.
struct Caller {
  std::atomic<std::uintptr_t> begin{0};
  std::uintptr_t size = 0;
  Progress* progress = nullptr;
};
constinit std::array<Caller, 8> g_callers;
constinit std::atomic<std::size_t> g_many{0};

// Where the object lies that an address belongs to.
struct Extent {
  std::uintptr_t address = 0, begin = 0, end = 0;
};

int find_extent(dl_phdr_info* object, std::size_t, void* into) {
  auto& extent = *static_cast<Extent*>(into);
  std::uintptr_t begin = UINTPTR_MAX, end = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto& part = object->dlpi_phdr[i];
    if (part.p_type != PT_LOAD) continue;
    begin = std::min<std::uintptr_t>(begin, object->dlpi_addr + part.p_vaddr);
    end = std::max<std::uintptr_t>(end, object->dlpi_addr + part.p_vaddr + part.p_memsz);
  }
  if (extent.address < begin || extent.address >= end) return 0;
  extent.begin = begin;
  extent.end = end;
  return 1;
}

[[gnu::noinline, gnu::cold]] Progress* remember(std::uintptr_t address) {
  Progress* const found = find_behind(reinterpret_cast<const void*>(address));
  Extent extent{address};
  if (dl_iterate_phdr(&find_extent, &extent) == 0) return found;
  const std::size_t place = g_many.fetch_add(1, std::memory_order_relaxed);  // two threads may enter the same one: no harm
  if (place >= g_callers.size()) return found;
  g_callers[place].size = extent.end - extent.begin;
  g_callers[place].progress = found;
  g_callers[place].begin.store(extent.begin, std::memory_order_release);
  return found;
}

Progress* progress_behind(const void* caller) {
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (const Caller& one : g_callers) {
    const std::uintptr_t begin = one.begin.load(std::memory_order_acquire);
    if (begin == 0) break;
    if (address - begin < one.size) [[likely]]
      return one.progress;
  }
  return remember(address);
}

}  // namespace

unsigned ucp_worker_progress(void* worker) {
  const unsigned done = progress_behind(REPRISE_RETURN_ADDRESS)(worker);
  if (!reprise::mpi::g_progress_gives_way) [[likely]]
    return done;
  if (done != 0) t_idle = 0;
  else if (++t_idle > kPatience) syscall(SYS_sched_yield);  // not the program's: ours would take it for that
  return done;
}
