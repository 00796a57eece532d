// Which module of a process an address lies in, as its memory map says.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace reprise::explore {

class Addresses {
 public:
  // As it is now.
  explicit Addresses(pid_t pid);
  // Path, and the address relative to where the module is loaded.
  std::optional<std::pair<std::string, std::uint64_t>> find(std::uint64_t address) const;

 private:
  struct Mapping {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t base = 0;
    std::string path;
  };
  std::vector<Mapping> mappings_;
};

}  // namespace reprise::explore
