// Whose code is it? The modules of this process, and which of them belong to the program: its executable, what that
// needs, what it loads itself. The MPI library, what only the MPI library pulled in, the plugins that it loads, and our
// own library do not. Neither do modules that serve everybody: what they read depends on the others as well.
//
// "Needs" is what the files say (DT_NEEDED). A module that nobody needs was loaded by name, by the program (an
// extension module of Python) or by the MPI library (a plugin). Those of the MPI libraries are known by their names: a
// wrong guess there would hide the program's own reads, so whatever is not surely a plugin of theirs is the program's.
//
// Used inside somebody else's program, perhaps inside its malloc: no allocation, tables of a fixed size. Another thread
// may unload modules at any time, so nothing that belongs to a module is kept: names are known by their hashes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise {

enum class ModuleSort : std::uint8_t { Library, Executable, Own, Mpi };

class ModuleGraph {
 public:
  static constexpr std::size_t kMaxModules = 2048;
  static constexpr std::size_t kMaxNeeds = 16384;

  // All zero at first: the table then costs no room in the file and no memory until it is used.
  struct Module {
    std::uint64_t name = 0;  // hash of what others need it by: the soname, else the file's name
    std::uintptr_t start = 0;
    std::uintptr_t end = 0;
    std::uint32_t first_need = 0;
    std::uint32_t needs = 0;
    ModuleSort sort = ModuleSort::Library;
    bool plugin = false;  // of the MPI library, or nobody's
    bool stays = false;   // was not the program's before: who brought it may be gone by now
    bool needed = false;
    bool programs = false;
  };

  // Reads the modules that are loaded now, if that has changed. `own` is an address in our own library.
  void read_loaded(const void* own);

  // Does the code at this address belong to the program? Code of no known module does.
  bool is_programs(const void* address) const;
  const Module* find(const void* address) const;

  // For read_loaded(), and for tests: one module after the other, each followed by what it needs; then decide().
  Module* add(const char* name, const char* path, ModuleSort sort);
  void add_need(const char* name);
  void place(Module& module, std::uintptr_t start, std::uintptr_t end);
  void decide();
  void clear();  // remembers which modules were not the program's

  std::size_t size() const { return size_; }
  const Module& operator[](std::size_t index) const { return modules_[index]; }

 private:
  void mark(Module& module);
  Module* needed(std::size_t need);

  Module modules_[kMaxModules] = {};
  std::uint64_t needs_[kMaxNeeds] = {};  // hashes of names
  Module* marked_[kMaxModules] = {};     // whose needs are still to be followed
  std::size_t marked_size_ = 0;
  std::uint64_t foreign_[kMaxModules] = {};
  std::size_t foreign_size_ = 0;
  std::size_t size_ = 0;
  std::size_t needs_size_ = 0;
  unsigned long long loads_ = 0;
  unsigned long long unloads_ = 0;
};

std::uint64_t name_hash(const char* name);
// A plugin of Open MPI, PMIx, UCX, libfabric, hwloc or libibverbs, by its file's name and directory.
bool is_mpi_plugin(const char* path);
// A malloc that comes as a library of its own, or a module of the C library's name service.
bool is_nobodys(const char* name);

}  // namespace reprise
