#include <mutex>
#include <unordered_map>

#include "base/spin.hpp"
#include "frontends/mcapi/endpoints.hpp"
#include "frontends/mcapi/requests.hpp"

namespace reprise::mcapi {
namespace {

template <class Key, class Value>
struct Table {
  std::atomic_flag lock;
  std::unordered_map<Key, Value> all;
};

Table<mcapi_endpoint_t, EndpointName>& endpoints() {
  static auto* const table = new Table<mcapi_endpoint_t, EndpointName>;  // threads may outlive static objects
  return *table;
}

Table<const mcapi_request_t*, PendingRequest>& requests() {
  static auto* const table = new Table<const mcapi_request_t*, PendingRequest>;
  return *table;
}

}  // namespace

void know_endpoint(mcapi_endpoint_t endpoint, const EndpointName& name) {
  const Spin spin(&endpoints().lock);
  endpoints().all[endpoint] = name;
}

EndpointName name_of(mcapi_endpoint_t endpoint) {
  const Spin spin(&endpoints().lock);
  const auto found = endpoints().all.find(endpoint);
  return found == endpoints().all.end() ? EndpointName{} : found->second;
}

void remember_request(const mcapi_request_t* request, const PendingRequest& pending) {
  const Spin spin(&requests().lock);
  requests().all[request] = pending;
}

std::optional<PendingRequest> forget_request(const mcapi_request_t* request) {
  const Spin spin(&requests().lock);
  const auto found = requests().all.find(request);
  if (found == requests().all.end()) return std::nullopt;
  const PendingRequest pending = found->second;
  requests().all.erase(found);
  return pending;
}

}  // namespace reprise::mcapi
