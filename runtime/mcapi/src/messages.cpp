#include "messages.hpp"

#include <algorithm>
#include <cstring>

#include "channels.hpp"
#include "endpoints.hpp"
#include "requests.hpp"

namespace mcapi {

std::uint32_t wrap(mcapi_endpoint_t from, const void* bytes, std::size_t size, mcapi_priority_t priority, unsigned width) {
  const std::uint32_t number = take_block(size);
  if (number == kNoBlock) return kNoBlock;
  Block& made = block(number);
  Endpoint& sender = at(from);
  made.size = static_cast<std::uint32_t>(size);
  made.width = static_cast<std::uint8_t>(width);
  made.priority = static_cast<std::uint8_t>(priority);
  made.domain = sender.domain;
  made.node = sender.node;
  made.port = sender.port;
  made.number = sender.sent.fetch_add(1, std::memory_order_relaxed) + 1;
  if (size > 0) std::memcpy(bytes_of(made), bytes, size);
  return number;
}

mcapi_status_t hand_over(std::uint32_t number, void* buffer, std::size_t capacity, std::size_t& size) {
  Block& from = block(number);
  size = std::min<std::size_t>(from.size, capacity);
  const bool fits = from.size <= capacity;
  if (size > 0) std::memcpy(buffer, bytes_of(from), size);
  give_block(number);
  return fits ? MCAPI_SUCCESS : MCAPI_ERR_MSG_TRUNCATED;
}

// While no send is pending, one can go at once, and nobody is overtaken.
mcapi_status_t send_in_time(LocalNode& node, mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, std::size_t size,
                            mcapi_priority_t priority, unsigned width) {
  const Endpoint& sender = at(from);
  std::uint32_t number = kNoBlock;
  const auto attempt = [&] {
    if (number == kNoBlock) number = wrap(from, bytes, size, priority, width);
    if (number == kNoBlock) return MCAPI_PENDING;
    return push(to, number);
  };
  mcapi_status_t status = MCAPI_PENDING;
  if (node.pending_sends.load(std::memory_order_acquire) == 0) status = attempt();
  if (status == MCAPI_PENDING && sender.memory_type == MCAPI_ENDP_ATTR_FAIL) status = MCAPI_ERR_MEM_LIMIT;
  if (status == MCAPI_PENDING) {
    wants_room(node.index);
    const bool sent = wait_until(node, sender.timeout, [&] {
      if (node.pending_sends.load(std::memory_order_acquire) == 0) status = attempt();
      return status != MCAPI_PENDING;
    });
    has_room(node.index);
    if (!sent) status = MCAPI_TIMEOUT;
  }
  if (status != MCAPI_SUCCESS && number != kNoBlock) {
    std::uint64_t last = block(number).number;  // only what was sent is counted
    at(from).sent.compare_exchange_strong(last, last - 1, std::memory_order_relaxed);
    give_block(number);
  }
  return status;
}

mcapi_status_t receive_in_time(LocalNode& node, mcapi_endpoint_t at_endpoint, std::uint32_t& number) {
  mcapi_status_t status = MCAPI_PENDING;
  const auto look = [&] {
    status = check_own(node, at_endpoint);  // another thread may delete it
    if (status != MCAPI_SUCCESS) return true;
    status = MCAPI_PENDING;
    if (node.pending_receives > 0)
      for (const Request* const before : node.pending)
        if ((before->operation == Operation::Receive || before->operation == Operation::ReceivePacket) && before->endpoint == at_endpoint) return false;
    number = pop(at_endpoint);
    status = number != kNoBlock ? MCAPI_SUCCESS : why_nothing_comes(at_endpoint);
    return status != MCAPI_PENDING;
  };
  return wait_until(node, at(at_endpoint).timeout, look) ? status : MCAPI_TIMEOUT;
}

void send_later(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, std::size_t size, mcapi_priority_t priority,
                mcapi_request_t* request, mcapi_status_t* status, mcapi_status_t wrong) {
  std::uint32_t number = kNoBlock;
  LocalNode* const node = this_node();
  if (wrong == MCAPI_SUCCESS && node && request) {
    if (node->pending_sends.load(std::memory_order_acquire) >= at(from).send_buffers) wrong = MCAPI_ERR_MEM_LIMIT;
    else if ((number = wrap(from, bytes, size, priority)) == kNoBlock) wrong = MCAPI_ERR_MEM_LIMIT;
  }
  mcapi_status_t result = MCAPI_SUCCESS;
  post(request, &result, wrong, [&](Request& made) {
    made.operation = Operation::Send;
    made.endpoint = from;
    made.other = to;
    made.block = number;
    made.size = size;
  });
  if (result != MCAPI_PENDING && number != kNoBlock) give_block(number);
  if (status) *status = result;
}

namespace {

bool has_channel(mcapi_endpoint_t endpoint) {
  return at(endpoint).status.load(std::memory_order_acquire) & (MCAPI_ENDP_STATUS_CONNECTED | MCAPI_ENDP_STATUS_OPEN_PENDING);
}

mcapi_status_t check_send(const LocalNode& node, mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, std::size_t size,
                          mcapi_priority_t priority) {
  if (const mcapi_status_t own = check_own(node, from); own != MCAPI_SUCCESS) return own;
  if (const mcapi_status_t there = check_endpoint(to); there != MCAPI_SUCCESS) return there;
  if (!bytes && size > 0) return MCAPI_ERR_BUF_INVALID;
  if (size > at(to).max_payload || size > at(from).max_payload) return MCAPI_ERR_MSG_LIMIT;
  if (priority >= at(to).priorities) return MCAPI_ERR_PRIORITY;
  return has_channel(from) || has_channel(to) ? MCAPI_ERR_CHAN_CONNECTED : MCAPI_SUCCESS;
}

mcapi_status_t check_receive(const LocalNode& node, mcapi_endpoint_t endpoint, const void* buffer, std::size_t size) {
  if (const mcapi_status_t own = check_own(node, endpoint); own != MCAPI_SUCCESS) return own;
  if (!buffer && size > 0) return MCAPI_ERR_BUF_INVALID;
  return has_channel(endpoint) ? MCAPI_ERR_CHAN_CONNECTED : MCAPI_SUCCESS;
}

}  // namespace
}  // namespace mcapi

using namespace mcapi;

void mcapi_msg_send_i(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size, mcapi_priority_t priority,
                      mcapi_request_t* request, mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  send_later(from, to, buffer, size, priority, request, status, node ? check_send(*node, from, to, buffer, size, priority) : MCAPI_SUCCESS);
}

void mcapi_msg_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, size_t size, mcapi_priority_t priority,
                    mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_send(*node, from, to, buffer, size, priority) : MCAPI_ERR_NODE_NOTINIT;
  if (result == MCAPI_SUCCESS) result = send_in_time(*node, from, to, buffer, size, priority);
  if (status) *status = result;
}

void mcapi_msg_recv_i(mcapi_endpoint_t endpoint, void* buffer, size_t size, mcapi_request_t* request, mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  post(request, status, node ? check_receive(*node, endpoint, buffer, size) : MCAPI_SUCCESS, [&](Request& made) {
    made.operation = Operation::Receive;
    made.endpoint = endpoint;
    made.buffer = buffer;
    made.capacity = size;
  });
}

void mcapi_msg_recv(mcapi_endpoint_t endpoint, void* buffer, size_t size, size_t* received, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_receive(*node, endpoint, buffer, size) : MCAPI_ERR_NODE_NOTINIT;
  std::size_t got = 0;
  std::uint32_t number = kNoBlock;
  if (result == MCAPI_SUCCESS) result = receive_in_time(*node, endpoint, number);
  if (result == MCAPI_SUCCESS) {
    remember_origin(block(number));
    result = hand_over(number, buffer, size, got);
  }
  if (received) *received = got;
  if (status) *status = result;
}

mcapi_uint_t mcapi_msg_available(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_receive(*node, endpoint, node, 0) : MCAPI_ERR_NODE_NOTINIT;
  mcapi_uint_t count = 0;
  if (result == MCAPI_SUCCESS) {
    const std::lock_guard guard(node->lock);
    progress(*node);
    count = lying(endpoint);
  }
  if (status) *status = result;
  return count;
}
