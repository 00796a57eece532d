#include "analyze/unseen_changes.hpp"

#include <fmt/format.h>

#include "engine/seen_memory.hpp"
#include "trace/rank_reader.hpp"

namespace reprise::analyze {

using engine::DataKind;
using engine::DataReader;
using engine::SeenMemory;

std::vector<UnseenChange> changes_after(int dir_fd, std::uint64_t trace_id, std::uint32_t rank, std::uint64_t call) {
  std::vector<UnseenChange> changes;
  auto reader = DataReader::open(dir_fd, {trace_id, rank, trace::kDataStream});
  while (reader) {
    const auto entry = reader->next();
    if (!entry || !*entry) break;
    const engine::DataEntry& one = **entry;
    std::vector<SeenMemory::Seen> ranges;
    if (one.kind != DataKind::Seen || one.field(3) == 0 || static_cast<std::uint64_t>(one.field(2)) != call || one.parts.empty() ||
        !SeenMemory::read_ranges(*one.parts[0], ranges))
      continue;
    for (const SeenMemory::Seen& range : ranges)
      if (range.is_new) changes.push_back({static_cast<std::uint64_t>(one.field(1)), range.region, range.begin, range.size});
  }
  return changes;
}

std::string name_of_memory(std::uint64_t window, std::uint32_t region, std::uint64_t begin, std::uint64_t size) {
  std::string name = window > 0    ? fmt::format("window {}", window) + (region > 0 ? fmt::format(", memory {}", region) : "")
                     : region == 0 ? std::string("static data")
                                   : fmt::format("symmetric object {}", region);
  return fmt::format("{}, bytes {}-{}", name, begin, begin + size - 1);
}

}  // namespace reprise::analyze
