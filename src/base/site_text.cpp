#include "base/site_text.hpp"

namespace reprise {

std::string site_text(std::uint64_t return_address, LoadedModule& room) {
  if (return_address == 0 || !find_module_of(reinterpret_cast<const void*>(return_address), room)) return "||";
  return std::to_string(return_address - room.base) + '|' + room.build_id + '|' + room.path;
}

}  // namespace reprise
