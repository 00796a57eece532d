#include "analyze/source_lines.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/elf.hpp"
#include "base/process.hpp"
#include "base/text.hpp"

namespace reprise::analyze {

namespace {

const Dwfl_Callbacks kCallbacks = {
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

// Where the parameter list of a demangled function begins; npos if there is none. ("(anonymous namespace)" may stand
// before it, so the bracket is found from the end.)
std::size_t parameters_of(std::string_view name) {
  const std::size_t close = name.rfind(')');
  if (close == std::string_view::npos) return close;
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (name[at] == ')') ++depth;
    if (name[at] == '(' && --depth == 0) return at > 0 ? at : std::string_view::npos;
  }
  return std::string_view::npos;
}

// Parameters are left out: they make a column unreadable, and the line tells overloads apart.
std::string demangled(const char* symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol, nullptr, nullptr, &status);
  std::string name = status == 0 && text ? text : symbol;
  std::free(text);
  if (status == 0) name.resize(std::min(name.size(), parameters_of(name)));
  return name;
}

void find_line(Dwfl_Module* module, GElf_Addr address, SourceLine& out) {
  if (Dwfl_Line* source = dwfl_module_getsrc(module, address)) {
    if (const char* file = dwfl_lineinfo(source, nullptr, &out.line, nullptr, nullptr, nullptr)) out.file = file;
    return;
  }
  // libdw goes by .debug_aranges, which clang does not write: look into every unit.
  Dwarf_Addr bias = 0;
  for (Dwarf_Die* unit = nullptr; (unit = dwfl_module_nextcu(module, unit, &bias));) {
    if (dwarf_haspc(unit, address - bias) != 1) continue;
    Dwarf_Line* source = dwarf_getsrc_die(unit, address - bias);
    const char* file = source ? dwarf_linesrc(source, nullptr, nullptr) : nullptr;
    if (!file || dwarf_lineno(source, &out.line) != 0) continue;
    out.file = file;
    return;
  }
}

// Functions whose code is part of another one there.
void find_inlined(Dwfl_Module* module, Dwarf_Addr address, SourceLine& out) {
  Dwarf_Addr bias = 0;
  Dwarf_Die* const unit = dwfl_module_addrdie(module, address, &bias);
  if (!unit) return;
  Dwarf_Die* scopes = nullptr;
  const int count = dwarf_getscopes(unit, address - bias, &scopes);
  for (int i = 0; i < count; ++i) {
    if (dwarf_tag(&scopes[i]) != DW_TAG_inlined_subroutine) continue;
    if (const char* const name = dwarf_diename(&scopes[i])) out.inlined.emplace_back(name);
  }
  std::free(scopes);
}

std::string hex_offset(std::uint64_t offset) {
  std::string digits = hex(offset);
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return "+0x" + digits;
}

}  // namespace

struct SourceLines::Module {
  std::string path;
  bool changed = false;
  Dwfl* dwfl = nullptr;
  Dwfl_Module* handle = nullptr;
  GElf_Addr bias = 0;  // what libdwfl adds to the addresses in the file
  GElf_Addr low = 0;   // of the module, with the bias
  GElf_Addr high = 0;

  ~Module() {
    if (dwfl) dwfl_end(dwfl);
  }

  void load() {
    UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat info {};
    if (!fd || ::fstat(fd.get(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    dwfl = dwfl_begin(&kCallbacks);
    if (!dwfl) return;
    dwfl_report_begin(dwfl);
    const int raw = ::dup(fd.get());  // libdwfl keeps and closes it on success
    handle = dwfl_report_offline(dwfl, path.c_str(), path.c_str(), raw);
    if (!handle && raw >= 0) ::close(raw);
    dwfl_report_end(dwfl, nullptr, nullptr);
    if (!handle) return;
    if (!dwfl_module_getelf(handle, &bias)) handle = nullptr;
    else dwfl_module_info(handle, nullptr, &low, &high, nullptr, nullptr, nullptr, nullptr);
  }
};

SourceLines::SourceLines() = default;
SourceLines::~SourceLines() = default;

SourceLines::Module& SourceLines::module(const std::string& path, std::string_view build_id) {
  auto& slot = modules_[path + '\n' + std::string(build_id)];
  if (slot) return *slot;
  slot = std::make_unique<Module>();
  slot->path = path;
  const auto elf = path.starts_with('/') ? read_elf(path) : Result<ElfFile>(Error{});
  if (!elf) return *slot;
  slot->changed = !build_id.empty() && elf->build_id != build_id;
  if (!slot->changed) slot->load();
  return *slot;
}

const SourceLine& SourceLines::find(const std::string& module_path, std::string_view build_id, std::uint64_t offset) {
  Module& from = module(module_path, build_id);
  const auto [slot, fresh] = found_.try_emplace({&from, offset});
  SourceLine& line = slot->second;
  if (!fresh) return line;
  line.module = module_path;
  line.offset = offset;
  line.changed = from.changed;
  if (!from.handle || offset == 0) return line;
  // Offsets count from the ELF load bias; a return address may already belong to the next line.
  const GElf_Addr address = from.bias + offset - 1;
  if (address < from.low || address >= from.high) return line;
  GElf_Off in_function = 0;
  GElf_Sym ignored{};
  if (const char* symbol = dwfl_module_addrinfo(from.handle, address, &in_function, &ignored, nullptr, nullptr, nullptr)) {
    line.function = demangled(symbol);
    line.in_function = in_function + 1;
  }
  find_line(from.handle, address, line);
  find_inlined(from.handle, address, line);
  return line;
}

std::string SourceLine::text() const {
  const std::string place(base_name(module));
  std::string out;
  if (!file.empty()) {
    out = printable(base_name(file)) + ':' + std::to_string(line);
    if (!function.empty()) out += " (" + printable(function) + ')';
  } else if (!function.empty()) {
    out = printable(function) + " (" + printable(place) + hex_offset(offset) + ')';
  } else if (!place.empty()) {
    out = printable(place) + hex_offset(offset);
  } else {
    out = "unknown place";
  }
  return changed ? out + " (file has changed)" : out;
}

}  // namespace reprise::analyze
