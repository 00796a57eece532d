#include "frontends/mcapi/identity.hpp"

#define XXH_INLINE_ALL
#include <dlfcn.h>
#include <mcapi_origin.h>
#include <xxhash.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>

#include "engine/session.hpp"

namespace reprise::mcapi {
namespace {

constexpr std::uint64_t kMagic = 0x9d1c5e37a2f84b6du;
constexpr const char* kNames[] = {"origin", "trailer", "digest"};

struct Trailer {
  std::uint32_t domain, node, port, priority;
  std::uint64_t number;
  std::uint64_t magic;
};
static_assert(sizeof(Trailer) == kTrailerSize);

using GetOrigin = mcapi_boolean_t (*)(mcapi_origin_t*);

std::atomic<void*> g_linked_origin{nullptr};

GetOrigin origin_function() {
  static const auto found = [] {
    void* const linked = g_linked_origin.load(std::memory_order_relaxed);
    return reinterpret_cast<GetOrigin>(linked ? linked : dlsym(RTLD_NEXT, "mcapi_origin_get"));
  }();
  return found;
}

Lane lane_of(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port, mcapi_priority_t priority) {
  using trace::kMaxDomain, trace::kPortBits, trace::kPriorityBits;
  constexpr std::uint32_t kPort = (1u << kPortBits) - 1, kPriority = (1u << kPriorityBits) - 1;
  if (domain > kMaxDomain) engine::Session::get().note("not-replayable", "domains above 255");
  return {trace::kSourceBase + std::min(node, (1u << trace::kNodeBits) - 1),
          static_cast<std::int32_t>((port & kPort) | (priority & kPriority) << kPortBits | std::min(domain, kMaxDomain) << (kPortBits + kPriorityBits))};
}

}  // namespace

KnownBy known_by() {
  static const KnownBy how = [] {
    engine::Session& session = engine::Session::get();
    const std::string& wanted = session.configuration().identify;
    const auto* const found = std::find(std::begin(kNames), std::end(kNames), wanted);
    const bool chosen = found != std::end(kNames);
    const auto choice = chosen ? static_cast<KnownBy>(found - std::begin(kNames)) : KnownBy::Origin;
    if (choice == KnownBy::Origin && !origin_function()) {
      if (chosen) session.give_up("the program's MCAPI library does not say where messages come from (it has no mcapi_origin_get)");
      return KnownBy::Trailer;
    }
    return choice;
  }();
  return how;
}

void use_origin_function(void* found) { g_linked_origin.store(found, std::memory_order_relaxed); }

const char* name_of(KnownBy how) { return kNames[static_cast<std::size_t>(how)]; }

bool has_wide_handles() { return origin_function() != nullptr; }

std::optional<Origin> origin_from_runtime() {
  mcapi_origin_t origin = {};
  const GetOrigin get = origin_function();
  if (!get || !get(&origin)) return std::nullopt;
  return Origin{lane_of(origin.domain, origin.node, origin.port, origin.priority), origin.number};
}

void write_trailer(void* at, const EndpointName& from, mcapi_priority_t priority, std::uint64_t number) {
  const Trailer trailer{from.domain, from.node, from.port, priority, number, kMagic};
  std::memcpy(at, &trailer, sizeof trailer);
}

std::optional<Origin> origin_from_trailer(const void* bytes, std::size_t size) {
  Trailer trailer;
  if (size < sizeof trailer) return std::nullopt;
  std::memcpy(&trailer, static_cast<const unsigned char*>(bytes) + size - sizeof trailer, sizeof trailer);
  if (trailer.magic != kMagic) return std::nullopt;
  return Origin{lane_of(trailer.domain, trailer.node, trailer.port, trailer.priority), trailer.number};
}

std::uint64_t digest_of(const void* bytes, std::size_t size) { return XXH3_64bits(bytes, size); }

}  // namespace reprise::mcapi
