// Which MPI a program would load: the closure of its needed libraries, found where the dynamic loader would look.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/elf.hpp"

namespace reprise::cli {

inline constexpr std::string_view kOpenMpi = "openmpi";
inline constexpr std::string_view kMpich = "mpich";
inline constexpr std::string_view kMcapi = "mcapi";  // its nodes are threads or processes, and no launcher starts them
inline constexpr std::string_view kNoMpi = "none";  // a program with threads, and no MPI at all

// The MPI that a library of this name belongs to ("openmpi", "mpich"); empty for any other library.
std::string_view mpi_of_library(std::string_view soname);

std::string_view mpi_title(std::string_view mpi);  // "Open MPI", "MPICH"

class LibrarySearch {
 public:
  LibrarySearch();

  // The first MPI library in the closure of an ELF file's needs; empty if there is none.
  std::string_view find_mpi(const std::string& path, const ElfFile& elf) const;

  // Where the loader would find a library that `elf` (at `path`) needs; empty if nowhere.
  std::string resolve(const std::string& soname, const std::string& path, const ElfFile& elf,
                      const std::vector<std::string>& inherited_rpath) const;

 private:
  std::vector<std::string> library_path_;                 // LD_LIBRARY_PATH
  std::multimap<std::string, std::string> loader_cache_;  // soname -> path, from ld.so.cache
  std::vector<std::string> default_directories_;
};

}  // namespace reprise::cli
