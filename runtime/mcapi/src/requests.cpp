#include "requests.hpp"

#include <algorithm>
#include <cstring>

#include "channels.hpp"
#include "endpoints.hpp"
#include "messages.hpp"

namespace mcapi {
namespace {

bool is_receive(const Request& request) { return request.operation == Operation::Receive || request.operation == Operation::ReceivePacket; }

mcapi_status_t advance_send(Request& request, std::vector<mcapi_endpoint_t>& full) {
  // What was sent before to the same endpoint is not to be overtaken.
  for (const mcapi_endpoint_t one : full)
    if (one == request.other) return MCAPI_PENDING;
  const mcapi_status_t status = push(request.other, request.block);
  if (status == MCAPI_PENDING) full.push_back(request.other);
  else if (status != MCAPI_SUCCESS) give_block(request.block);
  if (status != MCAPI_PENDING) request.block = kNoBlock;
  return status;
}

void note_origin(Request& request, const Block& block) {
  request.from_domain = block.domain;
  request.from_node = block.node;
  request.from_port = block.port;
  request.from_priority = block.priority;
  request.from_number = block.number;
}

mcapi_status_t advance_receive(Request& request) {
  if (const mcapi_status_t status = check_endpoint(request.endpoint); status != MCAPI_SUCCESS) return status;
  const std::uint32_t number = pop(request.endpoint);
  if (number == kNoBlock) return why_nothing_comes(request.endpoint);
  note_origin(request, block(number));
  if (request.operation == Operation::ReceivePacket) {
    request.size = block(number).size;
    *static_cast<void**>(request.buffer) = bytes_of(block(number));
    return MCAPI_SUCCESS;
  }
  return hand_over(number, request.buffer, request.capacity, request.size);
}

mcapi_status_t advance(LocalNode& node, Request& request, std::vector<mcapi_endpoint_t>& full) {
  switch (request.operation) {
    case Operation::Send: return advance_send(request, full);
    case Operation::Receive:
    case Operation::ReceivePacket: return advance_receive(request);
    case Operation::GetEndpoint: {
      mcapi_endpoint_t found = 0;
      const mcapi_status_t status = get_endpoint(node, request.domain, request.node, request.port, found);
      if (status == MCAPI_SUCCESS) *static_cast<mcapi_endpoint_t*>(request.buffer) = found;
      return status;
    }
    case Operation::Open: return advance_open(request);
    case Operation::Connect:
    case Operation::Close: return MCAPI_SUCCESS;  // they have happened
  }
  return MCAPI_ERR_GENERAL;
}

void no_longer_pending(LocalNode& node, const Request& request) {
  if (is_receive(request)) --node.pending_receives;
  if (request.operation != Operation::Send) return;
  node.pending_sends.fetch_sub(1);
  has_room(node.index);
}

// A complete request is over, and its handle worth nothing.
mcapi_status_t take_outcome(LocalNode& node, Request& request, std::size_t* size) {
  const mcapi_status_t status = request.status;
  if (size) *size = request.size;
  if (is_receive(request)) remember_origin(request);
  node.free(request);
  return status;
}

}  // namespace

void begin(LocalNode& node, Request& request) {
  if (is_receive(request)) ++node.pending_receives;
  if (request.operation == Operation::Send) {
    node.pending_sends.fetch_add(1);
    wants_room(node.index);
  }
  progress(node);
  const auto at_same_endpoint = [&](const Request* before) { return is_receive(*before) && before->endpoint == request.endpoint; };
  const bool follows = is_receive(request) ? std::any_of(node.pending.begin(), node.pending.end(), at_same_endpoint)
                                           : request.operation == Operation::Send && node.pending_sends > 1;
  if (follows) {
    // It must not overtake one at or to the same endpoint, whatever comes just now.
    node.pending.push_back(&request);
    node.heard = universe().nodes[node.index].bell.load(std::memory_order_relaxed) - 1;
    return progress(node);
  }
  std::vector<mcapi_endpoint_t> full;
  request.status = advance(node, request, full);
  if (request.status == MCAPI_PENDING) node.pending.push_back(&request);
  else no_longer_pending(node, request);
}

void progress(LocalNode& node) {
  const std::uint32_t rung = universe().nodes[node.index].bell.load(std::memory_order_seq_cst);
  if (node.pending.empty() || node.heard == rung) return;
  node.heard = rung;
  std::vector<mcapi_endpoint_t> full;
  std::vector<mcapi_endpoint_t> empty;  // where an earlier receive found nothing: what comes meanwhile is not for a later one
  std::size_t kept = 0;
  for (Request* const request : node.pending) {
    const bool follows = is_receive(*request) && std::find(empty.begin(), empty.end(), request->endpoint) != empty.end();
    const mcapi_status_t status = follows ? MCAPI_PENDING : advance(node, *request, full);
    if (status == MCAPI_PENDING) {
      if (is_receive(*request) && !follows) empty.push_back(request->endpoint);
      node.pending[kept++] = request;
      continue;
    }
    request->status = status;
    no_longer_pending(node, *request);
  }
  node.pending.resize(kept);
}

}  // namespace mcapi

using namespace mcapi;

mcapi_boolean_t mcapi_test(mcapi_request_t* request, size_t* size, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  if (!node || !request) {
    if (status) *status = node ? MCAPI_ERR_REQUEST_INVALID : MCAPI_ERR_NODE_NOTINIT;
    return MCAPI_FALSE;
  }
  mcapi_status_t result = MCAPI_ERR_REQUEST_INVALID;
  bool is_complete = false;
  {
    const std::lock_guard guard(node->lock);
    progress(*node);
    if (Request* const found = node->find(*request)) {
      is_complete = found->status != MCAPI_PENDING;
      result = is_complete ? take_outcome(*node, *found, size) : MCAPI_PENDING;
    }
  }
  if (!is_complete) look_for_dead();
  if (status) *status = result;
  return is_complete && result == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE;
}

mcapi_uint_t mcapi_wait_any(size_t count, mcapi_request_t** requests, size_t* size, mcapi_timeout_t timeout,
                            mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = MCAPI_SUCCESS;
  if (!node) result = MCAPI_ERR_NODE_NOTINIT;
  else if (count == 0 || !requests) result = MCAPI_ERR_PARAMETER;
  mcapi_uint_t which = MCAPI_RETURN_VALUE_INVALID;
  if (result == MCAPI_SUCCESS) {
    const std::lock_guard guard(node->lock);
    for (size_t i = 0; i < count && result == MCAPI_SUCCESS; ++i) {
      const Request* const found = requests[i] ? node->find(*requests[i]) : nullptr;
      if (!found) result = MCAPI_ERR_REQUEST_INVALID;
      else if (found->is_awaited) result = MCAPI_ERR_WAIT_PENDING;
    }
    if (result == MCAPI_SUCCESS)
      for (size_t i = 0; i < count; ++i) node->find(*requests[i])->is_awaited = true;
  }
  if (result == MCAPI_SUCCESS) {
    const auto look = [&] {
      for (size_t i = 0; i < count; ++i) {
        Request* const found = node->find(*requests[i]);
        if (found && found->status == MCAPI_PENDING) continue;
        which = static_cast<mcapi_uint_t>(i);
        result = found ? take_outcome(*node, *found, size) : MCAPI_ERR_REQUEST_INVALID;
        return true;
      }
      return false;
    };
    if (!wait_until(*node, timeout, look)) result = MCAPI_TIMEOUT;
    const std::lock_guard guard(node->lock);
    for (size_t i = 0; i < count; ++i)
      if (Request* const left = node->find(*requests[i])) left->is_awaited = false;
  }
  if (status) *status = result;
  return which;
}

mcapi_boolean_t mcapi_wait(mcapi_request_t* request, size_t* size, mcapi_timeout_t timeout, mcapi_status_t* status) {
  mcapi_status_t result;
  mcapi_wait_any(1, &request, size, timeout, &result);
  if (status) *status = result;
  return result == MCAPI_SUCCESS ? MCAPI_TRUE : MCAPI_FALSE;
}

// What is complete cannot be cancelled any more. The handle is for a test or wait, which says MCAPI_ERR_REQUEST_CANCELLED.
void mcapi_cancel(mcapi_request_t* request, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? MCAPI_ERR_REQUEST_INVALID : MCAPI_ERR_NODE_NOTINIT;
  if (node && request) {
    const std::lock_guard guard(node->lock);
    progress(*node);
    if (Request* const found = node->find(*request)) {
      if (found->status == MCAPI_PENDING) {
        if (found->block != kNoBlock) give_block(found->block);
        no_longer_pending(*node, *found);
        if (found->operation == Operation::Open) give_up_open(*found);
        std::erase(node->pending, found);
        found->status = MCAPI_ERR_REQUEST_CANCELLED;
        ring(node->index);
        result = MCAPI_SUCCESS;
      } else {
        result = found->status == MCAPI_ERR_REQUEST_CANCELLED ? MCAPI_ERR_REQUEST_CANCELLED : MCAPI_ERR_REQUEST_INVALID;
      }
    }
  }
  if (status) *status = result;
}
