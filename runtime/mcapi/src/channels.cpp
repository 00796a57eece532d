#include "channels.hpp"

#include <cstring>

#include "endpoints.hpp"
#include "messages.hpp"

namespace mcapi {

namespace {

constexpr std::uint32_t kOpening = MCAPI_ENDP_STATUS_OPEN_PENDING;
constexpr std::uint32_t kOpen = MCAPI_ENDP_STATUS_OPEN;
constexpr std::uint32_t kSends = MCAPI_ENDP_STATUS_SENDS;
constexpr std::uint32_t kConnected = MCAPI_ENDP_STATUS_CONNECTED;
constexpr std::uint32_t kClosing = MCAPI_ENDP_STATUS_CLOSE_PENDING;
constexpr std::uint32_t kBroken = MCAPI_ENDP_STATUS_BROKEN;

std::uint32_t status_of(mcapi_endpoint_t endpoint) { return at(endpoint).status.load(std::memory_order_acquire); }
std::uint32_t kind_of(mcapi_endpoint_t endpoint) { return at(endpoint).kind.load(std::memory_order_acquire); }

bool are_compatible(const Endpoint& from, const Endpoint& to) {
  return from.max_payload.load() == to.max_payload.load() && from.priorities.load() == to.priorities.load();
}

mcapi_status_t connect(mcapi_endpoint_t from, mcapi_endpoint_t to, std::uint32_t kind) {
  for (const mcapi_endpoint_t end : {from, to})
    if (const mcapi_status_t status = check_endpoint(end); status != MCAPI_SUCCESS) return status;
  if (from == to) return MCAPI_ERR_PARAMETER;
  const UniverseLock lock;
  for (const mcapi_endpoint_t end : {from, to}) {
    if (check_endpoint(end) != MCAPI_SUCCESS) return MCAPI_ERR_ENDP_DELETED;
    if (status_of(end) & kConnected) return MCAPI_ERR_CHAN_CONNECTED;
    // It may have been opened before.
    if (!(status_of(end) & kOpening)) continue;
    if (kind_of(end) != kind) return MCAPI_ERR_CHAN_TYPE;
    if (((status_of(end) & kSends) != 0) != (end == from)) return MCAPI_ERR_CHAN_DIRECTION;
  }
  if (!are_compatible(at(from), at(to))) return MCAPI_ERR_ATTR_INCOMPATIBLE;
  for (const mcapi_endpoint_t end : {from, to}) {
    at(end).kind.store(kind, std::memory_order_release);
    at(end).peer.store(end == from ? to : from, std::memory_order_release);
    at(end).status.fetch_or(kConnected | (end == from ? kSends : 0), std::memory_order_acq_rel);
  }
  ring_all();
  return MCAPI_SUCCESS;
}

mcapi_status_t begin_open(mcapi_endpoint_t endpoint, std::uint32_t kind, bool sends) {
  const UniverseLock lock;
  if (const mcapi_status_t status = check_endpoint(endpoint); status != MCAPI_SUCCESS) return status;
  const std::uint32_t status = status_of(endpoint);
  if (status & kOpen) return MCAPI_ERR_CHAN_OPEN;
  if (status & kOpening) return MCAPI_ERR_CHAN_OPENPENDING;
  if (status & kConnected) {
    if (kind_of(endpoint) != kind) return MCAPI_ERR_CHAN_TYPE;
    if (((status & kSends) != 0) != sends) return MCAPI_ERR_CHAN_DIRECTION;
  }
  at(endpoint).kind.store(kind, std::memory_order_release);
  at(endpoint).status.fetch_or(kOpening | (sends ? kSends : 0), std::memory_order_acq_rel);
  return MCAPI_SUCCESS;
}

// This end is closed. When both are, they are endpoints as before.
mcapi_status_t close(mcapi_endpoint_t endpoint) {
  const UniverseLock lock;
  if (const mcapi_status_t status = check_endpoint(endpoint); status != MCAPI_SUCCESS) return status;
  const std::uint64_t peer = at(endpoint).peer.load(std::memory_order_acquire);
  const bool other_is_there = peer != 0 && check_endpoint(peer) == MCAPI_SUCCESS && at(peer).peer.load(std::memory_order_acquire) == endpoint;
  at(endpoint).status.store(0, std::memory_order_release);
  at(endpoint).kind.store(MCAPI_ENDP_ATTR_TYPE_MESSAGE, std::memory_order_release);
  at(endpoint).peer.store(0, std::memory_order_release);
  if (other_is_there) {
    at(peer).status.fetch_or(kClosing, std::memory_order_acq_rel);
    ring_all();
  }
  return MCAPI_SUCCESS;
}

mcapi_status_t check_channel(const LocalNode& node, mcapi_endpoint_t handle, std::uint32_t kind, bool sends) {
  if (check_own(node, handle) != MCAPI_SUCCESS) return MCAPI_ERR_CHAN_INVALID;
  const std::uint32_t status = status_of(handle);
  if (!(status & (kOpen | kOpening))) return MCAPI_ERR_CHAN_NOTOPEN;
  if (kind_of(handle) != kind) return MCAPI_ERR_CHAN_TYPE;
  if (((status & kSends) != 0) != sends) return MCAPI_ERR_CHAN_DIRECTION;
  return status & kOpen ? MCAPI_SUCCESS : MCAPI_ERR_CHAN_OPENPENDING;
}

mcapi_status_t check_channel_send(const LocalNode& node, mcapi_endpoint_t handle, std::uint32_t kind, std::size_t size, const void* bytes) {
  if (const mcapi_status_t status = check_channel(node, handle, kind, true); status != MCAPI_SUCCESS) return status;
  if (!bytes && size > 0) return MCAPI_ERR_BUF_INVALID;
  if (size > at(handle).max_payload) return MCAPI_ERR_PKT_SIZE;
  if (status_of(handle) & kBroken) return MCAPI_ERR_TRANSMISSION;
  return status_of(handle) & kClosing ? MCAPI_ERR_CHAN_CLOSEPENDING : MCAPI_SUCCESS;
}

void connect_i(mcapi_endpoint_t from, mcapi_endpoint_t to, std::uint32_t kind, mcapi_request_t* request, mcapi_status_t* status) {
  const bool can = this_node() && request;
  post(request, status, can ? connect(from, to, kind) : MCAPI_SUCCESS, [](Request& made) { made.operation = Operation::Connect; });
}

void open_i(mcapi_endpoint_t* handle, mcapi_endpoint_t endpoint, std::uint32_t kind, bool sends, mcapi_request_t* request,
            mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  mcapi_status_t wrong = MCAPI_SUCCESS;
  if (node && request) {
    wrong = handle ? check_own(*node, endpoint) : MCAPI_ERR_PARAMETER;
    if (wrong == MCAPI_SUCCESS) wrong = begin_open(endpoint, kind, sends);
  }
  post(request, status, wrong, [&](Request& made) {
    made.operation = Operation::Open;
    made.endpoint = endpoint;
    *handle = endpoint;
  });
  if (node && request && wrong == MCAPI_SUCCESS) ring_all();
}

void close_i(mcapi_endpoint_t handle, std::uint32_t kind, bool sends, mcapi_request_t* request, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t wrong = MCAPI_SUCCESS;
  if (node && request) {
    const std::lock_guard guard(node->lock);
    wrong = check_channel(*node, handle, kind, sends);
    if (wrong == MCAPI_SUCCESS) wrong = close(handle);
    if (wrong == MCAPI_SUCCESS && !sends)  // what nobody wanted
      for (std::uint32_t left; (left = pop(handle)) != kNoBlock;) give_block(left);
  }
  post(request, status, wrong, [](Request& made) { made.operation = Operation::Close; });
}

mcapi_uint_t available(mcapi_endpoint_t handle, std::uint32_t kind, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  const mcapi_status_t result = node ? check_channel(*node, handle, kind, false) : MCAPI_ERR_NODE_NOTINIT;
  mcapi_uint_t count = 0;
  if (result == MCAPI_SUCCESS) {
    const std::lock_guard guard(node->lock);
    progress(*node);
    count = lying(handle);
  }
  if (status) *status = result;
  return count;
}

void send_scalar(mcapi_endpoint_t handle, std::uint64_t value, unsigned width, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_channel_send(*node, handle, MCAPI_ENDP_ATTR_TYPE_SCALAR, 0, nullptr) : MCAPI_ERR_NODE_NOTINIT;
  if (result == MCAPI_SUCCESS)
    result = send_in_time(*node, handle, at(handle).peer.load(std::memory_order_acquire), &value, sizeof value, at(handle).channel_priority, width);
  if (status) *status = result;
}

std::uint64_t receive_scalar(mcapi_endpoint_t handle, unsigned width, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_channel(*node, handle, MCAPI_ENDP_ATTR_TYPE_SCALAR, false) : MCAPI_ERR_NODE_NOTINIT;
  std::uint32_t number = kNoBlock;
  std::uint64_t value = 0;
  if (result == MCAPI_SUCCESS) result = receive_in_time(*node, handle, number);
  if (result == MCAPI_SUCCESS) {
    const unsigned sent = block(number).width;
    std::size_t size;
    remember_origin(block(number));
    hand_over(number, &value, sizeof value, size);
    if (sent != width) result = MCAPI_ERR_PKT_SIZE;
  }
  if (status) *status = result;
  return value;
}

}  // namespace

mcapi_status_t advance_open(Request& request) {
  if (const mcapi_status_t status = check_endpoint(request.endpoint); status != MCAPI_SUCCESS) return status;
  const std::uint32_t own = status_of(request.endpoint);
  if (!(own & kConnected)) return MCAPI_PENDING;
  // The other end may have been opened, used and closed meanwhile; what it sent lies here.
  if (!(own & (kClosing | kBroken))) {
    const std::uint64_t peer = at(request.endpoint).peer.load(std::memory_order_acquire);
    if (check_endpoint(peer) != MCAPI_SUCCESS || !(status_of(peer) & (kOpening | kOpen))) {
      if (!(status_of(request.endpoint) & (kClosing | kBroken))) return MCAPI_PENDING;
    }
  }
  at(request.endpoint).status.fetch_or(kOpen, std::memory_order_acq_rel);
  at(request.endpoint).status.fetch_and(~kOpening, std::memory_order_acq_rel);
  return MCAPI_SUCCESS;
}

void give_up_open(const Request& request) {
  if (check_endpoint(request.endpoint) != MCAPI_SUCCESS) return;
  at(request.endpoint).status.fetch_and(~kOpening, std::memory_order_acq_rel);
}

mcapi_status_t why_nothing_comes(mcapi_endpoint_t endpoint) {
  const std::uint32_t status = status_of(endpoint);
  if (!(status & kConnected)) return is_orphan(endpoint) ? MCAPI_ERR_TRANSMISSION : MCAPI_PENDING;
  if (!(status & (kClosing | kBroken)) || lying(endpoint) > 0) return MCAPI_PENDING;  // or it came just before the end
  return status & kBroken ? MCAPI_ERR_TRANSMISSION : MCAPI_ERR_CHAN_CLOSEPENDING;
}

}  // namespace mcapi

using namespace mcapi;

namespace {
constexpr std::uint32_t kPacket = MCAPI_ENDP_ATTR_TYPE_PACKET;
constexpr std::uint32_t kScalar = MCAPI_ENDP_ATTR_TYPE_SCALAR;
}  // namespace

void mcapi_pktchan_connect_i(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request, mcapi_status_t* status) {
  connect_i(from, to, kPacket, request, status);
}
void mcapi_pktchan_recv_open_i(mcapi_pktchan_recv_hndl_t* handle, mcapi_endpoint_t endpoint, mcapi_request_t* request,
                               mcapi_status_t* status) {
  open_i(handle, endpoint, kPacket, false, request, status);
}
void mcapi_pktchan_send_open_i(mcapi_pktchan_send_hndl_t* handle, mcapi_endpoint_t endpoint, mcapi_request_t* request,
                               mcapi_status_t* status) {
  open_i(handle, endpoint, kPacket, true, request, status);
}
void mcapi_pktchan_recv_close_i(mcapi_pktchan_recv_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status) {
  close_i(handle, kPacket, false, request, status);
}
void mcapi_pktchan_send_close_i(mcapi_pktchan_send_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status) {
  close_i(handle, kPacket, true, request, status);
}
mcapi_uint_t mcapi_pktchan_available(mcapi_pktchan_recv_hndl_t handle, mcapi_status_t* status) { return available(handle, kPacket, status); }

void mcapi_pktchan_send_i(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_request_t* request,
                          mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  const mcapi_status_t wrong = node ? check_channel_send(*node, handle, kPacket, size, buffer) : MCAPI_SUCCESS;
  const bool right = node && wrong == MCAPI_SUCCESS;
  send_later(handle, right ? at(handle).peer.load(std::memory_order_acquire) : 0, buffer, size, right ? at(handle).channel_priority.load() : 0,
             request, status, wrong);
}

void mcapi_pktchan_send(mcapi_pktchan_send_hndl_t handle, const void* buffer, size_t size, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_channel_send(*node, handle, kPacket, size, buffer) : MCAPI_ERR_NODE_NOTINIT;
  if (result == MCAPI_SUCCESS)
    result = send_in_time(*node, handle, at(handle).peer.load(std::memory_order_acquire), buffer, size, at(handle).channel_priority);
  if (status) *status = result;
}

void mcapi_pktchan_recv_i(mcapi_pktchan_recv_hndl_t handle, void** buffer, mcapi_request_t* request, mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  mcapi_status_t wrong = node ? check_channel(*node, handle, kPacket, false) : MCAPI_SUCCESS;
  if (wrong == MCAPI_SUCCESS && !buffer) wrong = MCAPI_ERR_PARAMETER;
  post(request, status, wrong, [&](Request& made) {
    made.operation = Operation::ReceivePacket;
    made.endpoint = handle;
    made.buffer = buffer;
  });
}

void mcapi_pktchan_recv(mcapi_pktchan_recv_hndl_t handle, void** buffer, size_t* received, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_channel(*node, handle, kPacket, false) : MCAPI_ERR_NODE_NOTINIT;
  if (result == MCAPI_SUCCESS && !buffer) result = MCAPI_ERR_PARAMETER;
  std::uint32_t number = kNoBlock;
  if (result == MCAPI_SUCCESS) result = receive_in_time(*node, handle, number);
  if (result == MCAPI_SUCCESS) {
    remember_origin(block(number));
    *buffer = bytes_of(block(number));
    if (received) *received = block(number).size;
  }
  if (status) *status = result;
}

void mcapi_pktchan_release(void* buffer, mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_ERR_NODE_NOTINIT;
  if (this_node()) {
    const std::uint32_t number = block_with(buffer);
    const bool is_ours = number != kNoBlock && block(number).holder.load(std::memory_order_relaxed) == own_process() + 1;
    result = is_ours ? MCAPI_SUCCESS : MCAPI_ERR_BUF_INVALID;
    if (is_ours) give_block(number);
  }
  if (status) *status = result;
}

// A release is over when it returns.
mcapi_boolean_t mcapi_pktchan_release_test(void* buffer, mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_ERR_NODE_NOTINIT;
  bool is_free = false;
  if (this_node()) {
    const std::uint32_t number = block_with(buffer);
    result = number != kNoBlock ? MCAPI_SUCCESS : MCAPI_ERR_BUF_INVALID;
    is_free = number != kNoBlock && block(number).holder.load(std::memory_order_relaxed) != own_process() + 1;
  }
  if (status) *status = result;
  return is_free ? MCAPI_TRUE : MCAPI_FALSE;
}

void mcapi_sclchan_connect_i(mcapi_endpoint_t from, mcapi_endpoint_t to, mcapi_request_t* request, mcapi_status_t* status) {
  connect_i(from, to, kScalar, request, status);
}
void mcapi_sclchan_recv_open_i(mcapi_sclchan_recv_hndl_t* handle, mcapi_endpoint_t endpoint, mcapi_request_t* request,
                               mcapi_status_t* status) {
  open_i(handle, endpoint, kScalar, false, request, status);
}
void mcapi_sclchan_send_open_i(mcapi_sclchan_send_hndl_t* handle, mcapi_endpoint_t endpoint, mcapi_request_t* request,
                               mcapi_status_t* status) {
  open_i(handle, endpoint, kScalar, true, request, status);
}
void mcapi_sclchan_recv_close_i(mcapi_sclchan_recv_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status) {
  close_i(handle, kScalar, false, request, status);
}
void mcapi_sclchan_send_close_i(mcapi_sclchan_send_hndl_t handle, mcapi_request_t* request, mcapi_status_t* status) {
  close_i(handle, kScalar, true, request, status);
}
mcapi_uint_t mcapi_sclchan_available(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) { return available(handle, kScalar, status); }

void mcapi_sclchan_send_uint64(mcapi_sclchan_send_hndl_t handle, mcapi_uint64_t value, mcapi_status_t* status) {
  send_scalar(handle, value, 8, status);
}
void mcapi_sclchan_send_uint32(mcapi_sclchan_send_hndl_t handle, mcapi_uint32_t value, mcapi_status_t* status) {
  send_scalar(handle, value, 4, status);
}
void mcapi_sclchan_send_uint16(mcapi_sclchan_send_hndl_t handle, mcapi_uint16_t value, mcapi_status_t* status) {
  send_scalar(handle, value, 2, status);
}
void mcapi_sclchan_send_uint8(mcapi_sclchan_send_hndl_t handle, mcapi_uint8_t value, mcapi_status_t* status) {
  send_scalar(handle, value, 1, status);
}
mcapi_uint64_t mcapi_sclchan_recv_uint64(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) { return receive_scalar(handle, 8, status); }
mcapi_uint32_t mcapi_sclchan_recv_uint32(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) {
  return static_cast<mcapi_uint32_t>(receive_scalar(handle, 4, status));
}
mcapi_uint16_t mcapi_sclchan_recv_uint16(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) {
  return static_cast<mcapi_uint16_t>(receive_scalar(handle, 2, status));
}
mcapi_uint8_t mcapi_sclchan_recv_uint8(mcapi_sclchan_recv_hndl_t handle, mcapi_status_t* status) {
  return static_cast<mcapi_uint8_t>(receive_scalar(handle, 1, status));
}
