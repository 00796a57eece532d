// The modules (program and shared libraries) of this process: which one holds an address, and where one is loaded.
//
// Used inside somebody else's program: no allocation, no exceptions, results in fixed-size storage.
#pragma once

#include <cstdint>
#include <limits.h>

namespace reprise {

struct LoadedModule {
  std::uintptr_t base = 0;         // what offsets are counted from (the ELF load bias)
  char path[PATH_MAX] = "";        // absolute where the loader knows it; the program itself by /proc/self/exe
  char build_id[2 * 32 + 1] = "";  // hex; empty when the module has none
};

// The module whose loaded segments contain `address`. False for code that belongs to no module (JIT, trampolines).
bool find_module_of(const void* address, LoadedModule& out);

// The loaded module with this build-id or, if the build-id is empty, with this path.
bool find_module_like(const char* path, const char* build_id, LoadedModule& out);

}  // namespace reprise
