// MPICH waits by asking UCX again and again (give_way.hpp). Here every such wait gives way, whatever call it is in.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "frontends/mpi/give_way.hpp"
#include "frontends/sys/next.hpp"

namespace {

using Progress = unsigned(void* worker);

constexpr int kPatience = 20;  // questions in a row that found nothing to do
thread_local int t_idle __attribute__((tls_model("initial-exec"))) = 0;

constinit reprise::sys::Next<Progress> g_next("ucp_worker_progress");

// A program that loads its MPI library for itself (Python) has UCX where RTLD_NEXT does not look; but it is among what the caller needs.
[[gnu::noinline]] void find_behind(const void* caller) {
  Dl_info info{};
  if (!dladdr(caller, &info) || !info.dli_fname) return;
  void* const library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (void* const found = library ? dlsym(library, "ucp_worker_progress") : nullptr) g_next.replace(reinterpret_cast<Progress*>(found));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  if (!g_next.find()) [[unlikely]]
    find_behind(REPRISE_RETURN_ADDRESS);
  Progress* const progress = g_next.find();
  const unsigned done = progress ? progress(worker) : 0;
  if (!reprise::mpi::g_progress_gives_way) [[likely]]
    return done;
  if (done != 0) t_idle = 0;
  else if (++t_idle > kPatience) syscall(SYS_sched_yield);  // not the program's: ours would take it for that
  return done;
}
