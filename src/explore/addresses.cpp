#include "explore/addresses.hpp"

#include <fstream>
#include <map>
#include <sstream>

#include "base/elf.hpp"

namespace reprise::explore {

Addresses::Addresses(pid_t pid) {
  std::ifstream maps("/proc/" + std::to_string(pid) + "/maps");
  std::map<std::string, std::uint64_t> bases;  // where the first piece of each file lies
  for (std::string line; std::getline(maps, line);) {
    std::istringstream words(line);
    std::string range, rights, offset, device, inode, path;
    words >> range >> rights >> offset >> device >> inode >> std::ws;
    std::getline(words, path);
    const std::size_t dash = range.find('-');
    if (path.empty() || path[0] != '/' || dash == std::string::npos) continue;
    Mapping mapping;
    mapping.first = std::stoull(range.substr(0, dash), nullptr, 16);
    mapping.last = std::stoull(range.substr(dash + 1), nullptr, 16);
    mapping.path = path;
    auto [found, is_first] = bases.try_emplace(path, mapping.first);
    if (is_first) {
      const auto elf = read_elf(path);
      if (elf && !elf->shared_object) found->second = 0;  // linked to a fixed address
    }
    mapping.base = found->second;
    mappings_.push_back(std::move(mapping));
  }
}

std::optional<std::pair<std::string, std::uint64_t>> Addresses::find(std::uint64_t address) const {
  for (const Mapping& mapping : mappings_)
    if (mapping.first <= address && address < mapping.last) return std::pair(mapping.path, address - mapping.base);
  return std::nullopt;
}

}  // namespace reprise::explore
