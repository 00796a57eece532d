#include "base/elf.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/process.hpp"
#include "base/text.hpp"

namespace reprise {

namespace {

constexpr std::uint64_t kMaxHeaders = 4096;
constexpr std::uint64_t kMaxDynamic = 1u << 16;
constexpr std::uint64_t kMaxNotes = 1u << 20;
constexpr std::uint64_t kMaxPath = 1u << 16;
constexpr std::size_t kMaxNeeded = 4096;
constexpr std::uint32_t kMaxBuildId = 32;  // as much as base/loaded_modules keeps

Result<UniqueFd> open_regular(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return Error{"cannot open " + path + ": " + error_text(errno)};
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return Error{path + " is not a regular file"};
  return fd;
}

class Image {
 public:
  static Result<Image> open(const std::string& path) {
    auto fd = open_regular(path);
    if (!fd) return fd.error();
    Image image;
    image.fd_ = std::move(*fd);
    image.size_ = static_cast<std::uint64_t>(std::max<off_t>(0, ::lseek(image.fd_.get(), 0, SEEK_END)));
    const unsigned char* ident = image.header_.e_ident;
    if (!image.read(0, &image.header_, sizeof image.header_) || std::memcmp(ident, ELFMAG, SELFMAG) != 0)
      return Error{path + " is not an ELF file"};
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
      return Error{path + " is not a 64-bit little-endian ELF file"};
    if (image.header_.e_phnum > 0 && image.header_.e_phentsize == sizeof(Elf64_Phdr))
      image.segments_ = image.table<Elf64_Phdr>(image.header_.e_phoff, image.header_.e_phnum, kMaxHeaders);
    return image;
  }

  const Elf64_Ehdr& header() const { return header_; }
  const std::vector<Elf64_Phdr>& segments() const { return segments_; }

  bool read(std::uint64_t offset, void* out, std::uint64_t size) const {
    if (offset > size_ || size > size_ - offset) return false;
    auto* to = static_cast<char*>(out);
    while (size > 0) {
      const ssize_t got = ::pread(fd_.get(), to, size, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      to += got;
      offset += static_cast<std::uint64_t>(got);
      size -= static_cast<std::uint64_t>(got);
    }
    return true;
  }

  // Empty when the table does not lie in the file.
  template <class Entry>
  std::vector<Entry> table(std::uint64_t offset, std::uint64_t count, std::uint64_t limit) const {
    if (count > limit || count > size_ / sizeof(Entry)) return {};
    std::vector<Entry> entries(static_cast<std::size_t>(count));
    if (!read(offset, entries.data(), count * sizeof(Entry))) entries.clear();
    return entries;
  }

  std::string string(std::uint64_t offset, std::uint64_t limit) const {
    std::string text;
    char piece[256];
    while (offset < size_ && text.size() < limit) {
      const std::uint64_t size = std::min<std::uint64_t>(sizeof piece, size_ - offset);
      if (!read(offset, piece, size)) break;
      const void* zero = std::memchr(piece, 0, size);
      if (zero) return text.append(piece, static_cast<std::size_t>(static_cast<const char*>(zero) - piece));
      text.append(piece, size);
      offset += size;
    }
    return "";
  }

  // Where the byte at a virtual address lies in the file; UINT64_MAX if nowhere.
  std::uint64_t file_offset(std::uint64_t address) const {
    for (const Elf64_Phdr& segment : segments_)
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
        return segment.p_offset + (address - segment.p_vaddr);
    return UINT64_MAX;
  }

 private:
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  Elf64_Ehdr header_{};
  std::vector<Elf64_Phdr> segments_;
};

std::string find_build_id(const Image& image, const Elf64_Phdr& segment) {
  const auto notes = image.table<std::uint8_t>(segment.p_offset, segment.p_filesz, kMaxNotes);
  const std::uint64_t alignment = segment.p_align == 8 ? 8 : 4;
  const auto aligned = [&](std::uint64_t value) { return (value + alignment - 1) & ~(alignment - 1); };
  std::uint64_t at = 0;
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    Elf64_Nhdr note;
    std::memcpy(&note, notes.data() + at, sizeof note);
    const std::uint64_t name = at + sizeof note;
    const std::uint64_t data = aligned(name + note.n_namesz);
    if (data > notes.size() || note.n_descsz > notes.size() - data) break;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes.data() + name, "GNU", 4) == 0)
      return hex(std::span(notes).subspan(data, std::min<std::uint32_t>(note.n_descsz, kMaxBuildId)));
    at = aligned(data + note.n_descsz);
  }
  return "";
}

void read_dynamic(const Image& image, const Elf64_Phdr& segment, ElfFile& out) {
  const auto entries = image.table<Elf64_Dyn>(segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn), kMaxDynamic);
  std::uint64_t strings = UINT64_MAX;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) strings = image.file_offset(entry.d_un.d_ptr);
  }
  if (strings == UINT64_MAX) return;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_un.d_val > UINT64_MAX - strings) continue;
    const auto text = [&] { return image.string(strings + entry.d_un.d_val, kMaxPath); };
    if (entry.d_tag == DT_NEEDED && out.needed.size() < kMaxNeeded) out.needed.push_back(text());
    if (entry.d_tag == DT_SONAME) out.soname = text();
    if (entry.d_tag == DT_RPATH) out.rpath = split(text(), ':');
    if (entry.d_tag == DT_RUNPATH) out.runpath = split(text(), ':');
  }
}

bool table_defines(const Image& image, const Elf64_Shdr& symbols, const Elf64_Shdr& strings,
                   const std::string& wanted) {
  constexpr std::uint64_t kBatch = 4096;
  const std::uint64_t count = symbols.sh_size / sizeof(Elf64_Sym);
  std::string name(wanted.size() + 1, '\0');
  for (std::uint64_t first = 0; first < count; first += kBatch) {
    const std::uint64_t size = std::min(kBatch, count - first);
    const std::uint64_t skip = first * sizeof(Elf64_Sym);
    if (skip > UINT64_MAX - symbols.sh_offset) return false;
    const auto batch = image.table<Elf64_Sym>(symbols.sh_offset + skip, size, kBatch);
    if (batch.empty()) return false;
    for (const Elf64_Sym& symbol : batch) {
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name > UINT64_MAX - strings.sh_offset) continue;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      // Comparing the terminating zero too makes this an exact match.
      if (image.read(strings.sh_offset + symbol.st_name, name.data(), name.size()) &&
          std::memcmp(name.data(), wanted.c_str(), name.size()) == 0)
        return true;
    }
  }
  return false;
}

}  // namespace

Result<ElfFile> read_elf(const std::string& path) {
  auto image = Image::open(path);
  if (!image) return image.error();
  ElfFile out;
  out.machine = image->header().e_machine;
  out.shared_object = image->header().e_type == ET_DYN;
  for (const Elf64_Phdr& segment : image->segments()) {
    if (segment.p_type == PT_INTERP) out.interpreter = image->string(segment.p_offset, 4096);
    if (segment.p_type == PT_NOTE && out.build_id.empty()) out.build_id = find_build_id(*image, segment);
    if (segment.p_type == PT_DYNAMIC) {
      out.dynamic = true;
      read_dynamic(*image, segment, out);
    }
  }
  return out;
}

bool elf_has_section(const std::string& path, const std::string& name) {
  const auto image = Image::open(path);
  if (!image || image->header().e_shentsize != sizeof(Elf64_Shdr)) return false;
  const auto sections = image->table<Elf64_Shdr>(image->header().e_shoff, image->header().e_shnum, UINT16_MAX);
  if (image->header().e_shstrndx >= sections.size()) return false;
  const std::uint64_t names = sections[image->header().e_shstrndx].sh_offset;
  return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& section) {
    return section.sh_name <= UINT64_MAX - names && image->string(names + section.sh_name, kMaxPath) == name;
  });
}

bool elf_defines(const std::string& path, const std::string& symbol) {
  const auto image = Image::open(path);
  if (!image || image->header().e_shentsize != sizeof(Elf64_Shdr)) return false;
  const auto sections = image->table<Elf64_Shdr>(image->header().e_shoff, image->header().e_shnum, UINT16_MAX);
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) continue;
    if (section.sh_link < sections.size() && table_defines(*image, section, sections[section.sh_link], symbol))
      return true;
  }
  return false;
}

Result<std::string> file_hash(const std::string& path) {
  auto fd = open_regular(path);
  if (!fd) return fd.error();
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  std::vector<char> buffer(1u << 18);
  while (true) {
    const ssize_t got = ::read(fd->get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Error{"cannot read " + path + ": " + error_text(errno)};
    if (got == 0) return hex(XXH3_64bits_digest(&state));
    XXH3_64bits_update(&state, buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace reprise
