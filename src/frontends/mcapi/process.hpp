// Processes that become nodes: a rank each. Which, the trace's list of nodes says.
#pragma once

#include <mcapi.h>

namespace reprise::mcapi {

// The process is about to initialize that node. If it is no rank yet, it becomes one.
void become_rank(mcapi_domain_t domain, mcapi_node_t node);
// Recording: the running thread is that node.
void note_node(mcapi_domain_t domain, mcapi_node_t node);

}  // namespace reprise::mcapi
