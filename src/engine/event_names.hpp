// The names of named events, numbered in order of first use. Recorder and replayer number alike.
//
// Only a digest of each name is kept: the text is in the log, and a guest allocates nothing.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "engine/sites.hpp"
#include "trace/format.hpp"

namespace reprise::engine {

// A name as the log keeps it. Longer ones are cut.
inline std::string_view event_name(const char* name) {
  constexpr std::size_t kLongest = 255;
  return name ? std::string_view(name, strnlen(name, kLongest)) : std::string_view();
}

inline Arguments event_arguments(std::int64_t number) {
  Arguments arguments{};
  arguments[kTag] = number;
  return arguments;
}

class EventNames {
 public:
  static constexpr std::int64_t kUnknown = -1;

  std::int64_t find(std::string_view name) const {
    const std::uint32_t known = index_.find(0, key(name));
    return known == kNoSite ? kUnknown : known;
  }
  // The next number; kUnknown when there are too many.
  std::int64_t add(std::string_view name) {
    if (count_ == trace::kMaxNames || !index_.insert(0, key(name), count_)) return kUnknown;
    return count_++;
  }

 private:
  // FNV-1a with a last mix: names are short, and 64 bits keep 65536 of them apart. Never null, which means "free".
  static const void* key(std::string_view name) {
    std::uint64_t digest = 0xcbf29ce484222325u;
    for (const char c : name) digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    digest ^= digest >> 29;
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(digest | 1));
  }

  SiteIndex index_;
  std::uint32_t count_ = 0;
};

}  // namespace reprise::engine
