#include "frontends/sys/early_leave.hpp"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <unistd.h>

#include "engine/session.hpp"
#include "frontends/inside.hpp"

namespace reprise::sys {

namespace {

bool g_leaves_early = false;
int g_status = 0;

// The Fortran library writes what it has buffered when it is taken down.
void flush_fortran() {
  using Flush = void(int* unit);  // null: all
  if (auto* const flush = reinterpret_cast<Flush*>(dlsym(RTLD_DEFAULT, "_gfortran_flush_i4"))) flush(nullptr);
}

// Ours is the first library to be taken down.
__attribute__((destructor)) void leave() {
  if (!g_leaves_early) return;
  frontends::t_inside = true;
  flush_fortran();
  std::fflush(nullptr);
  engine::Session::get().process_exits(g_status);
  _exit(g_status);
}

}  // namespace

void leave_early() {
  if (g_leaves_early) return;
  g_leaves_early = true;
  on_exit([](int status, void*) { g_status = status; }, nullptr);
}

}  // namespace reprise::sys
