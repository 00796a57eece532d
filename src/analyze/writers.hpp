// Who wrote what a rank has seen in its windows.
//
// The accesses that may have written it were told to the rank by their origins, and are in its data. Where there are several,
// values decide (OPR, section 6.2): of those whose values were recorded, the last one that gave just these bytes. Where nobody
// could tell (another machine), values alone do. What no rank of the set gave comes from outside.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "engine/seen_memory.hpp"

namespace reprise::analyze {

struct Writing {
  std::uint32_t rank = 0;  // who has seen it
  std::uint32_t thread = 0;
  std::uint64_t call = 0;    // at the end of which call
  std::uint64_t window = 0;  // counted from 1
  std::uint32_t region = 0;  // of a dynamic window
  std::uint64_t begin = 0;
  std::uint64_t size = 0;
  std::vector<std::uint8_t> bytes;          // if they are few
  std::optional<std::uint32_t> writer;      // none: outside, and nobody knows more
  bool in_set = false;                      // its values are recorded, too
  std::uint32_t writer_thread = 0;
  std::optional<std::uint64_t> written_by;  // then: its call
};

class Writers {
 public:
  static constexpr std::uint64_t kFew = 64;
  using Visit = std::function<void(const Writing&)>;

  // `ranks`: whose values are recorded.
  Writers(int dir_fd, std::uint64_t trace_id, std::vector<std::uint32_t> ranks);

  // Everything that was seen, rank by rank and in order.
  Result<void> each(const Visit& visit);

 private:
  // What a rank gave to the window of another one.
  struct Given {
    std::uint32_t thread = 0;
    std::uint64_t call = 0;
    std::uint64_t bytes = 0;
    std::uint32_t digest = 0;
    std::uint32_t target = 0;
    std::uint64_t window = 0;
    std::uint64_t begin = 0;
  };
  // One look of a rank.
  struct Look {
    Writing writing;  // without place and writer
    std::vector<engine::SeenMemory::Seen> ranges;
    std::vector<engine::SeenMemory::Accessed> accesses;
  };

  template <class Use>
  Result<void> each_entry(Use use) const;
  void note_given(std::uint32_t rank, std::uint32_t thread, const engine::DataEntry& entry);
  void split(const Look& look, const engine::SeenMemory::Seen& range, const engine::SeenMemory& memory, const Visit& visit) const;
  void find_writer(const Look& look, const engine::SeenMemory& memory, Writing& writing) const;
  static void blame(std::uint32_t rank, const Given& given, Writing& writing);
  static bool gave_it(const Given& given, const engine::SeenMemory& memory, std::uint32_t region, std::uint64_t begin);

  int dir_fd_;
  std::uint64_t trace_id_;
  std::vector<std::uint32_t> ranks_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Given> given_;  // by rank and number of the access
};

}  // namespace reprise::analyze
