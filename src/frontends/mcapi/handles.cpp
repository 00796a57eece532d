// What is known of endpoints and requests.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/spin.hpp"
#include "engine/thread_stream.hpp"
#include "frontends/mcapi/endpoints.hpp"
#include "frontends/mcapi/handle_table.hpp"
#include "frontends/mcapi/identity.hpp"
#include "frontends/mcapi/requests.hpp"

namespace reprise::mcapi {
namespace {

struct Known {
  HandleTable<EndpointName> endpoints;
  std::atomic<std::uint32_t> endpoints_version{1};
  HandleTable<PendingRequest> requests;
  std::atomic_flag posting;
  std::atomic<std::size_t> posted_receives{0};
  std::vector<std::pair<std::uint64_t, const mcapi_request_t*>> posted;  // receives that are pending: endpoint and request, as they were posted
  std::atomic_flag making_up;
  std::vector<EndpointName> made_up;
};

Known& known() {
  static auto* const one = new Known;  // threads may outlive static objects
  return *one;
}

std::uint64_t key_of(const mcapi_request_t* request) { return reinterpret_cast<std::uintptr_t>(request); }

}  // namespace

std::uint64_t key_of(mcapi_endpoint_t endpoint) {
  return has_wide_handles() ? endpoint : std::uint64_t{static_cast<std::uint32_t>(endpoint)} + 1;  // there, 0 may be a handle
}

void know_endpoint(mcapi_endpoint_t endpoint, const EndpointName& name) {
  if (name_of(endpoint) == name) return;
  known().endpoints.put(key_of(endpoint), name);
  known().endpoints_version.fetch_add(1, std::memory_order_acq_rel);
}

EndpointName name_of(mcapi_endpoint_t endpoint) {
  thread_local Remembered<EndpointName> t_names;
  const std::uint64_t key = key_of(endpoint);
  return t_names.get(key, known().endpoints_version, [key] { return known().endpoints.get(key).value_or(EndpointName{}); });
}

mcapi_port_t next_any_port() {
  thread_local mcapi_port_t count = 0;
  const mcapi_port_t thread = engine::t_stream ? engine::t_stream->number : 0;
  return trace::kAnyPort | (thread & 0x7f) << 12 | (++count & 0xfff);
}

// None that the runtime would take for one of its own, and the same for the same name.
mcapi_endpoint_t made_up_endpoint(const EndpointName& name) {
  constexpr mcapi_endpoint_t kFirst = 0x7f000000;
  const Spin spin(&known().making_up);
  std::vector<EndpointName>& all = known().made_up;
  const auto found = std::find(all.begin(), all.end(), name);
  const auto index = static_cast<mcapi_endpoint_t>(found - all.begin());
  if (found == all.end()) all.push_back(name);
  return kFirst + index;
}

void put_handle(void* where, std::uint64_t handle) {
  const auto narrow = static_cast<std::uint32_t>(handle);
  if (has_wide_handles()) std::memcpy(where, &handle, sizeof handle);
  else std::memcpy(where, &narrow, sizeof narrow);
}

std::uint64_t handle_at(const void* where) {
  std::uint64_t wide = 0;
  std::uint32_t narrow = 0;
  if (has_wide_handles()) std::memcpy(&wide, where, sizeof wide);
  else std::memcpy(&narrow, where, sizeof narrow);
  return wide | narrow;
}

void remember_request(const mcapi_request_t* request, const PendingRequest& pending) {
  known().requests.put(key_of(request), pending);
  if (pending.kind != PendingRequest::Kind::Receive) return;
  const Spin spin(&known().posting);
  known().posted.emplace_back(key_of(pending.endpoint), request);
  known().posted_receives.store(known().posted.size(), std::memory_order_relaxed);
}

std::optional<PendingRequest> known_request(const mcapi_request_t* request) { return known().requests.get(key_of(request)); }

std::optional<PendingRequest> forget_request(const mcapi_request_t* request) {
  auto pending = known().requests.take(key_of(request));
  if (!pending || pending->kind != PendingRequest::Kind::Receive) return pending;
  const Spin spin(&known().posting);
  auto& posted = known().posted;
  const std::uint64_t endpoint = key_of(pending->endpoint);
  const auto first = std::find_if(posted.begin(), posted.end(), [&](const auto& one) { return one.first == endpoint; });
  pending->in_order = first != posted.end() && first->second == request;
  std::erase(posted, std::pair(endpoint, request));
  known().posted_receives.store(posted.size(), std::memory_order_relaxed);
  return pending;
}

bool has_posted_receives(mcapi_endpoint_t endpoint) {
  if (known().posted_receives.load(std::memory_order_relaxed) == 0) return false;
  const Spin spin(&known().posting);
  const auto is_there = [key = key_of(endpoint)](const auto& one) { return one.first == key; };
  return std::any_of(known().posted.begin(), known().posted.end(), is_there);
}

}  // namespace reprise::mcapi
