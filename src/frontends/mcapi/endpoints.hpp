// Endpoints by their names, which are the same in every run, and not by their handles.
#pragma once

#include <mcapi.h>

#include <cstdint>

namespace reprise::mcapi {

struct EndpointName {
  mcapi_domain_t domain = 0;
  mcapi_node_t node = 0;
  mcapi_port_t port = 0;

  bool operator==(const EndpointName&) const = default;
};

void know_endpoint(mcapi_endpoint_t endpoint, const EndpointName& name);
// Of one that is not known: zeros.
EndpointName name_of(mcapi_endpoint_t endpoint);
// In place of MCAPI_PORT_ANY: which of those of this thread it is.
mcapi_port_t next_any_port();

// A handle as a key: only what is surely of it.
std::uint64_t key_of(mcapi_endpoint_t endpoint);
// Running alone: in place of another node's endpoint.
mcapi_endpoint_t made_up_endpoint(const EndpointName& name);
// And where the program's variable for a handle may be narrower than ours.
void put_handle(void* where, std::uint64_t handle);
std::uint64_t handle_at(const void* where);

}  // namespace reprise::mcapi
