// Channels: two endpoints that only talk to each other.
#pragma once

#include "local_node.hpp"

namespace mcapi {

// MCAPI_PENDING: the other end is not open yet.
mcapi_status_t advance_open(Request& request);
void give_up_open(const Request& request);
// Nothing lies there. MCAPI_PENDING: it may yet come.
mcapi_status_t why_nothing_comes(mcapi_endpoint_t endpoint);

}  // namespace mcapi
