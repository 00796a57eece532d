// Call sites in terms of the source: module and offset -> function, file and line.
//
// The modules are named by the trace, perhaps by a stranger's: only regular files are opened, and a file whose
// build-id is not the recorded one gets no lines at all, because wrong lines are worse than none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::analyze {

struct SourceLine {
  std::string function;              // demangled; empty if unknown
  std::uint64_t in_function = 0;     // bytes from its beginning
  std::vector<std::string> inlined;  // functions that the compiler has put there, the innermost first
  std::string file;                  // as the compiler wrote it; empty if unknown
  int line = 0;
  std::string module;
  std::uint64_t offset = 0;
  bool changed = false;  // the file is not the recorded one any more

  // "work.c:17 (main)", "main+0x40 (app)", "app+0x1234"; with a remark when the file has changed.
  std::string text() const;
};

class SourceLines {
 public:
  SourceLines();
  ~SourceLines();
  SourceLines(const SourceLines&) = delete;
  SourceLines& operator=(const SourceLines&) = delete;

  // `offset` is a return address relative to the module's load address.
  const SourceLine& find(const std::string& module_path, std::string_view build_id, std::uint64_t offset);

 private:
  struct Module;
  Module& module(const std::string& path, std::string_view build_id);

  std::map<std::string, std::unique_ptr<Module>> modules_;
  std::map<std::pair<const Module*, std::uint64_t>, SourceLine> found_;
};

}  // namespace reprise::analyze
