// MCAPI in a log: what stands in place of a wildcard receive's source and tag. The source is a node, and the tag the rest of the endpoint that
// sent; above all nodes, the source is something else that a call brought.
#pragma once

#include <cstdint>

namespace reprise::trace {

inline constexpr unsigned kNodeBits = 20;  // of the source, without kSourceBase
inline constexpr unsigned kPortBits = 20;  // of the tag; then priority, then domain
inline constexpr unsigned kPriorityBits = 3;
inline constexpr std::uint32_t kMaxDomain = 255;
inline constexpr std::uint32_t kAnyPort = 1u << 19;  // and above: in place of MCAPI_PORT_ANY, where the library does not say which it chose

// source >> kNodeBits
enum class LaneKind : std::uint32_t { Sender, Digest, Status, Count };
constexpr std::uint32_t lane_code(LaneKind kind, std::uint32_t value = 0) { return static_cast<std::uint32_t>(kind) << kNodeBits | value; }
constexpr LaneKind kind_of_lane(std::uint32_t source) { return static_cast<LaneKind>(source >> kNodeBits); }
constexpr std::uint32_t value_of_lane(std::uint32_t source) { return source & ((1u << kNodeBits) - 1); }

}  // namespace reprise::trace
