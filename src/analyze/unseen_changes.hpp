// What changed in a rank's windows between two of its calls, where a replay cannot know whether the program has read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace reprise::analyze {

struct UnseenChange {
  std::uint64_t window = 0;
  std::uint32_t region = 0;
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
};

// After this call of the main thread, and before its next one.
std::vector<UnseenChange> changes_after(int dir_fd, std::uint64_t trace_id, std::uint32_t rank, std::uint64_t call);
// "window 2, bytes 0-3"; "static data, bytes 16-23"; "symmetric object 3, bytes 0-7"
std::string name_of_memory(std::uint64_t window, std::uint32_t region, std::uint64_t begin, std::uint64_t size);

}  // namespace reprise::analyze
