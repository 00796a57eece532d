#include "base/loaded_modules.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>
#include <unistd.h>

namespace reprise {
namespace {

void copy_path(const dl_phdr_info& info, char (&out)[PATH_MAX]) {
  if (info.dlpi_name && info.dlpi_name[0] != '\0') {
    std::strncpy(out, info.dlpi_name, PATH_MAX - 1);
    out[PATH_MAX - 1] = '\0';
    return;
  }
  const ssize_t size = readlink("/proc/self/exe", out, PATH_MAX - 1);
  out[size > 0 ? size : 0] = '\0';
}

std::uintptr_t aligned(std::uintptr_t value, std::uintptr_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

void copy_build_id(const dl_phdr_info& info, char (&out)[2 * 32 + 1]) {
  out[0] = '\0';
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    std::uintptr_t at = info.dlpi_addr + segment.p_vaddr;
    const std::uintptr_t end = at + segment.p_memsz;
    const std::uintptr_t alignment = segment.p_align == 8 ? 8 : 4;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, reinterpret_cast<const void*>(at), sizeof note);
      const std::uintptr_t name = at + sizeof note;
      const std::uintptr_t bytes = aligned(name + note.n_namesz, alignment);
      if (bytes + note.n_descsz > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
          std::memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0 && note.n_descsz <= 32) {
        static constexpr char kHex[] = "0123456789abcdef";
        const auto* id = reinterpret_cast<const unsigned char*>(bytes);
        for (unsigned k = 0; k < note.n_descsz; ++k) {
          out[2 * k] = kHex[id[k] >> 4];
          out[2 * k + 1] = kHex[id[k] & 15];
        }
        out[2 * note.n_descsz] = '\0';
        return;
      }
      at = aligned(bytes + note.n_descsz, alignment);
    }
  }
}

void describe(const dl_phdr_info& info, LoadedModule& out) {
  out.base = info.dlpi_addr;
  copy_path(info, out.path);
  copy_build_id(info, out.build_id);
}

struct AddressSearch {
  std::uintptr_t address;
  LoadedModule* out;
};

int match_address(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<AddressSearch*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (search.address - start >= segment.p_memsz) continue;
    describe(*info, *search.out);
    return 1;
  }
  return 0;
}

struct NameSearch {
  const char* path;
  const char* build_id;
  LoadedModule* out;
};

int match_name(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<NameSearch*>(data);
  describe(*info, *search.out);
  if (search.build_id[0] != '\0') return std::strcmp(search.build_id, search.out->build_id) == 0;
  return std::strcmp(search.path, search.out->path) == 0;
}

}  // namespace

bool find_module_of(const void* address, LoadedModule& out) {
  AddressSearch search{reinterpret_cast<std::uintptr_t>(address), &out};
  return dl_iterate_phdr(match_address, &search) != 0;
}

bool find_module_like(const char* path, const char* build_id, LoadedModule& out) {
  NameSearch search{path, build_id, &out};
  return dl_iterate_phdr(match_name, &search) != 0;
}

}  // namespace reprise
