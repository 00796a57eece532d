// Which message is it? MCAPI does not say where a message comes from. The paper knows it by a CRC of its bytes, and confuses equal ones
// (DR-MCAPI, section 3.3.2). Here it is the next one of its lane: of those that one endpoint sends to another with the same priority, which
// come in order. The lane is known from the runtime (mcapi_origin.h), or else from a trailer that we send with each message. Where neither
// can be, a message is known by a digest of its bytes: who receives one of several equal messages cannot tell which.
#pragma once

#include <mcapi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/call_stream.hpp"
#include "frontends/mcapi/endpoints.hpp"
#include "trace/node_lane.hpp"

namespace reprise::mcapi {

enum class KnownBy { Origin, Trailer, Digest };
// The user's wish, or what the runtime allows.
KnownBy known_by();
const char* name_of(KnownBy how);

// Of a library that is linked into the program; null: it has none.
void use_origin_function(void* found);

// Are handles 64 bits wide? Other runtimes may have narrower ones: what is above 32 bits of them is chance.
bool has_wide_handles();

using Lane = engine::WildcardOutcome;  // as it is logged
inline bool operator==(const Lane& a, const Lane& b) { return a.code == b.code && a.tag == b.tag; }
// In place of a lane: a number follows, which is the digest.
inline constexpr Lane kByDigest{trace::kSourceBase + trace::lane_code(trace::LaneKind::Digest), 0};

// What else a test may have brought. It is logged like a lane, and not as a number: other calls may be between a test and the last one that
// was logged, to which a number would belong.
inline Lane lane_for_status(mcapi_status_t status) { return {trace::kSourceBase + trace::lane_code(trace::LaneKind::Status, static_cast<std::uint32_t>(status)), 0}; }
inline Lane lane_for_count(mcapi_uint_t count) { return {trace::kSourceBase + trace::lane_code(trace::LaneKind::Count, std::min(count, (1u << trace::kNodeBits) - 1)), 0}; }
inline std::optional<mcapi_status_t> status_in(const Lane& lane) {
  const std::uint32_t code = lane.code - trace::kSourceBase;
  return trace::kind_of_lane(code) == trace::LaneKind::Status ? std::optional(static_cast<mcapi_status_t>(trace::value_of_lane(code))) : std::nullopt;
}
inline mcapi_uint_t count_in(const Lane& lane) {
  const std::uint32_t code = lane.code - trace::kSourceBase;
  return trace::kind_of_lane(code) == trace::LaneKind::Count ? trace::value_of_lane(code) : 0;
}

struct Origin {
  Lane lane;
  std::uint64_t number = 0;  // of what its sender has sent, to anybody
};
// Of the last message that the runtime has brought to this thread.
std::optional<Origin> origin_from_runtime();

inline constexpr std::size_t kTrailerSize = 32;
void write_trailer(void* at, const EndpointName& from, mcapi_priority_t priority, std::uint64_t number);
// Of a message of that size. Nothing: it has none.
std::optional<Origin> origin_from_trailer(const void* bytes, std::size_t size);

std::uint64_t digest_of(const void* bytes, std::size_t size);

}  // namespace reprise::mcapi
