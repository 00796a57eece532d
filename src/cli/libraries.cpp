#include "cli/libraries.hpp"

#include <fcntl.h>

#include <cstdlib>
#include <deque>
#include <set>

#include "base/bytes.hpp"
#include "base/process.hpp"
#include "base/text.hpp"

namespace reprise::cli {

namespace {

constexpr std::size_t kMaxCache = 64u << 20;
constexpr std::size_t kMaxClosure = 4096;  // libraries looked at; more than any program has

// Layout of /etc/ld.so.cache as written by glibc 2.2 and later.
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kCacheHeader = 48;
constexpr std::size_t kCacheEntry = 24;

std::multimap<std::string, std::string> read_loader_cache() {
  std::multimap<std::string, std::string> found;
  const auto file = read_file_at(AT_FDCWD, "/etc/ld.so.cache", kMaxCache, true);
  if (!file) return found;
  // An older format may stand in front; offsets count from the magic.
  const std::size_t start = file->find(kCacheMagic);
  if (start == std::string::npos) return found;
  const std::string_view cache = std::string_view(*file).substr(start);
  if (cache.size() < kCacheHeader) return found;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(cache.data());
  const std::uint64_t count = get_fixed<std::uint32_t>(bytes + kCacheMagic.size());
  if (count > (cache.size() - kCacheHeader) / kCacheEntry) return found;
  const auto text = [&](std::uint32_t offset) -> std::string {
    if (offset >= cache.size()) return "";
    const std::string_view from = cache.substr(offset);
    return std::string(from.substr(0, from.find('\0')));
  };
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint8_t* entry = bytes + kCacheHeader + i * kCacheEntry;
    found.emplace(text(get_fixed<std::uint32_t>(entry + 4)), text(get_fixed<std::uint32_t>(entry + 8)));
  }
  return found;
}

void replace_all(std::string& text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
}

std::vector<std::string> expand_origin(const std::vector<std::string>& directories, const std::string& path) {
  char* real = ::realpath(path.c_str(), nullptr);
  const std::string_view file = real ? real : path.c_str();
  const std::string origin(file.substr(0, file.rfind('/')));
  std::free(real);
  std::vector<std::string> expanded;
  for (std::string directory : directories) {
    replace_all(directory, "$ORIGIN", origin);
    replace_all(directory, "${ORIGIN}", origin);
    replace_all(directory, "$LIB", "lib");
    replace_all(directory, "${LIB}", "lib");
    if (!directory.empty()) expanded.push_back(std::move(directory));
  }
  return expanded;
}

}  // namespace

std::string_view mpi_of_library(std::string_view soname) {
  if (soname == "libmpi.so.40") return kOpenMpi;
  if (soname == "libmpich.so.12" || soname == "libmpi.so.12") return kMpich;
  if (soname == "libmcapi.so" || soname.starts_with("libmcapi.so.")) return kMcapi;
  return "";
}

std::string_view mpi_title(std::string_view mpi) {
  if (mpi == kOpenMpi) return "Open MPI";
  if (mpi == kMpich) return "MPICH";
  if (mpi == kMcapi) return "MCAPI";
  if (mpi == kNoMpi) return "no MPI";
  return "an unknown MPI";
}

LibrarySearch::LibrarySearch() : loader_cache_(read_loader_cache()) {
  if (const char* path = std::getenv("LD_LIBRARY_PATH")) {
    for (const std::string& part : split(path, ':'))
      for (std::string& directory : split(part, ';'))
        library_path_.push_back(directory.empty() ? "." : std::move(directory));
  }
  const std::string multiarch = machine_architecture() + "-linux-gnu";
  default_directories_ = {"/lib/" + multiarch, "/usr/lib/" + multiarch, "/lib64", "/usr/lib64", "/lib", "/usr/lib"};
}

std::string LibrarySearch::resolve(const std::string& soname, const std::string& path, const ElfFile& elf,
                                   const std::vector<std::string>& inherited_rpath) const {
  const auto fits = [&](const std::string& candidate) {
    const auto other = read_elf(candidate);
    return other && other->machine == elf.machine;
  };
  if (soname.find('/') != std::string::npos) return fits(soname) ? soname : "";
  const auto search = [&](const std::vector<std::string>& directories) -> std::string {
    for (const std::string& directory : directories)
      if (std::string candidate = directory + '/' + soname; fits(candidate)) return candidate;
    return "";
  };
  std::string found;
  if (elf.runpath.empty()) {
    found = search(expand_origin(elf.rpath, path));
    if (found.empty()) found = search(inherited_rpath);
  }
  if (found.empty()) found = search(library_path_);
  if (found.empty()) found = search(expand_origin(elf.runpath, path));
  if (!found.empty()) return found;
  for (auto [at, end] = loader_cache_.equal_range(soname); at != end; ++at)
    if (fits(at->second)) return at->second;
  return search(default_directories_);
}

std::string_view LibrarySearch::find_mpi(const std::string& path, const ElfFile& elf) const {
  struct Item {
    std::string path;
    ElfFile elf;
    std::vector<std::string> rpath;  // of the chain of loaders above it
  };
  std::set<std::string> seen;
  std::deque<Item> queue;
  queue.push_back({path, elf, {}});
  while (!queue.empty() && seen.size() < kMaxClosure) {
    const Item item = std::move(queue.front());
    queue.pop_front();
    for (const std::string& soname : item.elf.needed)
      if (const std::string_view mpi = mpi_of_library(soname); !mpi.empty()) return mpi;
    std::vector<std::string> rpath = item.rpath;
    if (item.elf.runpath.empty())
      for (std::string& directory : expand_origin(item.elf.rpath, item.path)) rpath.push_back(std::move(directory));
    for (const std::string& soname : item.elf.needed) {
      if (!seen.insert(soname).second) continue;
      std::string library = resolve(soname, item.path, item.elf, item.rpath);
      if (library.empty()) continue;
      if (auto needed = read_elf(library)) queue.push_back({std::move(library), std::move(*needed), rpath});
    }
  }
  return "";
}

}  // namespace reprise::cli
