#include "base/module_graph.hpp"

#include <string_view>

namespace reprise {

std::uint64_t name_hash(const char* name) {
  std::uint64_t hash = 14695981039346656037u;
  for (; *name != '\0'; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 1099511628211u;
  return hash;
}

bool is_mpi_plugin(const char* path) {
  std::string_view directory(path);
  const auto slash = directory.rfind('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view file = directory.substr(slash + 1);
  directory = directory.substr(0, slash);
  directory = directory.substr(directory.rfind('/') + 1);
  if (file.starts_with("mca_") || file.starts_with("pmix_mca_")) return true;
  if (directory == "hwloc") return file.starts_with("hwloc_");
  return directory == "ucx" || directory == "libfabric" || directory == "libibverbs";
}

// Whether an allocator looks at the clock depends on everything that was ever allocated, by the MPI library as well.
// The C library loads the modules of its name service for whoever looks a name up. The compiler's library for exceptions
// prepares itself, once, when the first one in the process is thrown, or the first thread is cancelled.
bool is_nobodys(const char* name) {
  for (const std::string_view start : {"libjemalloc.", "libtcmalloc", "libmimalloc", "libnss_", "libgcc_s."})
    if (std::string_view(name).starts_with(start)) return true;
  return false;
}

namespace {

std::uint64_t identity(const ModuleGraph::Module& module) { return module.name ^ module.start * 0x9e3779b97f4a7c15ull; }

}  // namespace

void ModuleGraph::clear() {
  foreign_size_ = 0;
  for (std::size_t i = 0; i < size_; ++i)
    if (!modules_[i].programs) foreign_[foreign_size_++] = identity(modules_[i]);
  size_ = needs_size_ = 0;
}

void ModuleGraph::place(Module& module, std::uintptr_t start, std::uintptr_t end) {
  module.start = start;
  module.end = end;
  for (std::size_t i = 0; i < foreign_size_; ++i) module.stays |= foreign_[i] == identity(module);
}

ModuleGraph::Module* ModuleGraph::add(const char* name, const char* path, ModuleSort sort) {
  if (size_ == kMaxModules) return nullptr;
  Module& module = modules_[size_++];
  module = {};
  module.name = name_hash(name);
  module.plugin = is_mpi_plugin(path) || is_nobodys(name);
  module.sort = sort;
  module.first_need = static_cast<std::uint32_t>(needs_size_);
  return &module;
}

void ModuleGraph::add_need(const char* name) {
  if (needs_size_ == kMaxNeeds) return;
  needs_[needs_size_++] = name_hash(name);
  ++modules_[size_ - 1].needs;
}

ModuleGraph::Module* ModuleGraph::needed(std::size_t need) {
  for (std::size_t i = 0; i < size_; ++i)
    if (modules_[i].name == needs_[need]) return &modules_[i];
  return nullptr;
}

void ModuleGraph::mark(Module& module) {
  if (module.programs || module.sort == ModuleSort::Own || module.sort == ModuleSort::Mpi) return;
  if (module.plugin && module.sort != ModuleSort::Executable) return;
  module.programs = true;
  marked_[marked_size_++] = &module;
}

void ModuleGraph::decide() {
  for (std::size_t need = 0; need < needs_size_; ++need)
    if (Module* module = needed(need)) module->needed = true;
  marked_size_ = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    Module& module = modules_[i];
    const bool loaded_by_name = !module.needed && !module.stays;
    if (module.sort == ModuleSort::Executable || loaded_by_name) mark(module);
  }
  while (marked_size_ > 0) {
    const Module& module = *marked_[--marked_size_];
    for (std::uint32_t k = 0; k < module.needs; ++k)
      if (Module* next = needed(module.first_need + k)) mark(*next);
  }
}

const ModuleGraph::Module* ModuleGraph::find(const void* address) const {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (std::size_t i = 0; i < size_; ++i)
    if (at - modules_[i].start < modules_[i].end - modules_[i].start) return &modules_[i];
  return nullptr;
}

bool ModuleGraph::is_programs(const void* address) const {
  const Module* module = find(address);
  return !module || module->programs;
}

}  // namespace reprise
