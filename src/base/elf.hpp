// What an ELF file says about itself: its build-id, what it needs, where it looks for that.
//
// The files are named by users and by traces of strangers, so nothing in them is believed: every offset and count is
// checked, and pieces are read (not mapped: a file that shrinks under a map would be a SIGBUS).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace reprise {

struct ElfFile {
  std::uint16_t machine = 0;   // EM_*
  bool shared_object = false;  // ET_DYN: a library, or a position-independent program
  std::string interpreter;     // the dynamic loader; empty for libraries and static programs
  bool dynamic = false;        // has a dynamic section: LD_PRELOAD can reach it
  std::string build_id;        // hex; may be empty
  std::string soname;
  std::vector<std::string> needed;
  std::vector<std::string> rpath;  // in use only when runpath is empty
  std::vector<std::string> runpath;
};

// 64-bit little-endian files only, which is all that Reprise can run.
Result<ElfFile> read_elf(const std::string& path);

// Does the file itself define the symbol (in .symtab or .dynsym)? False for stripped files and for trouble.
bool elf_defines(const std::string& path, const std::string& symbol);

// Has it a section of this name? False for trouble.
bool elf_has_section(const std::string& path, const std::string& name);

// xxh3 (64 bits, hex) of the file's content.
Result<std::string> file_hash(const std::string& path);

}  // namespace reprise
