// Processes that become nodes: a rank each. Which, the trace's list of nodes says.
#pragma once

#include <mcapi.h>

namespace reprise::mcapi {

// The process is about to initialize that node. If it is no rank yet, it becomes one. A node that is left out of a replay ends here.
void become_rank(mcapi_domain_t domain, mcapi_node_t node);
// The running thread has become that node.
void is_node_now(mcapi_domain_t domain, mcapi_node_t node);

}  // namespace reprise::mcapi
