// ModuleGraph::read_loaded: the dynamic sections of the modules in memory.
#include <elf.h>
#include <link.h>

#include <cstring>
#include <initializer_list>

#include "base/module_graph.hpp"

namespace reprise {
namespace {

// What the dynamic section of a loaded module points to. The loader has turned the entries into addresses on most
// machines; where it has not (the kernel's own module), they are offsets.
struct Dynamic {
  explicit Dynamic(const dl_phdr_info& info) : base(info.dlpi_addr) {
    for (int i = 0; i < info.dlpi_phnum; ++i)
      if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
        entries = reinterpret_cast<const ElfW(Dyn)*>(base + info.dlpi_phdr[i].p_vaddr);
    for (const ElfW(Dyn)* at = entries; at && at->d_tag != DT_NULL; ++at) {
      if (at->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(address(at->d_un.d_ptr));
      if (at->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(address(at->d_un.d_ptr));
      if (at->d_tag == DT_GNU_HASH) hashes = reinterpret_cast<const std::uint32_t*>(address(at->d_un.d_ptr));
      if (at->d_tag == DT_SONAME) soname = &at->d_un.d_val;
    }
  }

  std::uintptr_t address(std::uintptr_t value) const { return value < base ? base + value : value; }

  const char* name(const char* path) const {
    if (strings && soname) return strings + *soname;
    const char* slash = std::strrchr(path, '/');
    return slash ? slash + 1 : path;
  }

  // By the GNU hash table: header, bloom filter (not needed here), buckets, chains.
  bool defines(const char* symbol) const {
    if (!hashes || !symbols || !strings) return false;
    std::uint32_t hash = 5381;
    for (const char* at = symbol; *at != '\0'; ++at) hash = hash * 33 + static_cast<unsigned char>(*at);
    const std::uint32_t buckets = hashes[0];
    const std::uint32_t first = hashes[1];
    const std::uint32_t* const bucket = hashes + 4 + hashes[2] * (sizeof(ElfW(Addr)) / sizeof(std::uint32_t));
    const std::uint32_t* const chain = bucket + buckets;
    if (buckets == 0) return false;
    for (std::uint32_t at = bucket[hash % buckets]; at >= first && at != 0; ++at) {
      const std::uint32_t found = chain[at - first];
      if ((found | 1) == (hash | 1) && symbols[at].st_shndx != SHN_UNDEF &&
          std::strcmp(strings + symbols[at].st_name, symbol) == 0)
        return true;
      if (found & 1) return false;
    }
    return false;
  }

  std::uintptr_t base;
  const ElfW(Dyn) * entries = nullptr;
  const char* strings = nullptr;
  const ElfW(Sym) * symbols = nullptr;
  const std::uint32_t* hashes = nullptr;
  const ElfW(Xword) * soname = nullptr;
};

// Tools that stand in front of the MPI library define MPI_Init, but not this. The others: its Fortran layers.
bool is_mpi(const Dynamic& dynamic) {
  for (const char* symbol : {"PMPI_Init", "pmpi_init_", "pmpi_init_f08_"})
    if (dynamic.defines(symbol)) return true;
  return false;
}

struct Reading {
  ModuleGraph& graph;
  std::uintptr_t own;
  unsigned long long& loads;
  unsigned long long& unloads;
  bool started = false;
};

int read_module(dl_phdr_info* info, std::size_t, void* data) {
  auto& reading = *static_cast<Reading*>(data);
  if (!reading.started) {
    if (reading.loads == info->dlpi_adds && reading.unloads == info->dlpi_subs) return 1;
    reading.loads = info->dlpi_adds;
    reading.unloads = info->dlpi_subs;
    reading.graph.clear();
  }
  std::uintptr_t start = UINTPTR_MAX;
  std::uintptr_t end = 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    if (info->dlpi_phdr[i].p_type != PT_LOAD) continue;
    const std::uintptr_t from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (from < start) start = from;
    if (from + info->dlpi_phdr[i].p_memsz > end) end = from + info->dlpi_phdr[i].p_memsz;
  }
  const Dynamic dynamic(*info);
  const char* const path = info->dlpi_name ? info->dlpi_name : "";
  ModuleSort sort = reading.started ? ModuleSort::Library : ModuleSort::Executable;  // the executable is the first
  if (reading.own - start < end - start) sort = ModuleSort::Own;
  else if (sort == ModuleSort::Library && is_mpi(dynamic)) sort = ModuleSort::Mpi;
  reading.started = true;
  ModuleGraph::Module* module = reading.graph.add(dynamic.name(path), path, sort);
  if (!module) return 1;
  reading.graph.place(*module, start, end);
  for (const ElfW(Dyn)* at = dynamic.entries; at && dynamic.strings && at->d_tag != DT_NULL; ++at)
    if (at->d_tag == DT_NEEDED) reading.graph.add_need(dynamic.strings + at->d_un.d_val);
  return 0;
}

}  // namespace

void ModuleGraph::read_loaded(const void* own) {
  Reading reading{*this, reinterpret_cast<std::uintptr_t>(own), loads_, unloads_};
  dl_iterate_phdr(read_module, &reading);
  if (reading.started) decide();
}

}  // namespace reprise
