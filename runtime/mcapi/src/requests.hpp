// Nonblocking operations.
#pragma once

#include "local_node.hpp"

namespace mcapi {

// It is the last of the pending ones now; those before it come first.
void begin(LocalNode& node, Request& request);

// A new request of this node, unless there is something wrong; `fill` says what is to be done, and what can be done at once is.
template <class Fill>
void post(mcapi_request_t* request, mcapi_status_t* status, mcapi_status_t wrong, Fill fill) {
  LocalNode* const node = this_node();
  mcapi_status_t result = !node ? MCAPI_ERR_NODE_NOTINIT : !request ? MCAPI_ERR_PARAMETER : wrong;
  if (result == MCAPI_SUCCESS) {
    const std::lock_guard guard(node->lock);
    if (Request* const made = node->new_request(*request)) {
      fill(*made);
      begin(*node, *made);
      result = MCAPI_PENDING;
    } else {
      result = MCAPI_ERR_REQUEST_LIMIT;
    }
  }
  if (status) *status = result;
}

}  // namespace mcapi
