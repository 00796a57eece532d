// What requests want of endpoints.
#pragma once

#include "requests.hpp"

namespace mcapi {

// MCAPI_PENDING: it is not there yet.
mcapi_status_t get_endpoint(LocalNode& node, mcapi_domain_t domain, mcapi_node_t owner, mcapi_port_t port, mcapi_endpoint_t& out);
// All who had got it have died: nobody is left who could send to it.
bool is_orphan(mcapi_endpoint_t endpoint);

}  // namespace mcapi
