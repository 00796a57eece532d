// Endpoints: made and deleted by their node, got by the others.
#include <cstring>

#include "endpoints.hpp"

namespace mcapi {
namespace {

constexpr std::uint32_t kReceiveBuffers = 4096;
constexpr std::uint32_t kSendBuffers = 4096;
constexpr mcapi_port_t kFirstFreePort = 0x80000;  // for MCAPI_PORT_ANY

void empty_queue(Endpoint& endpoint, std::uint64_t next_generation) {
  for (unsigned priority = 0; priority < MCAPI_MAX_PRIORITIES; ++priority) {
    for (std::uint32_t number : {static_cast<std::uint32_t>(endpoint.inbox[priority].exchange(next_generation << 32, std::memory_order_acq_rel)),
                                 endpoint.first[priority].exchange(kNoBlock, std::memory_order_acq_rel)})
      while (number != kNoBlock) {
        const std::uint32_t next = block(number).next.load(std::memory_order_relaxed);
        give_block(number);
        number = next;
      }
    endpoint.last[priority] = kNoBlock;
  }
  endpoint.taken.store(0, std::memory_order_relaxed);
}

std::uint32_t find_endpoint(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
  Universe& all = universe();
  const std::uint32_t used = all.endpoints_used.load(std::memory_order_acquire);
  for (std::uint32_t i = 0; i < used; ++i) {
    const Endpoint& one = all.endpoints[i];
    if (one.generation.load(std::memory_order_acquire) % 2 == 1 && one.domain == domain && one.node == node && one.port == port) return i;
  }
  return kNobody;
}

void set_up(Endpoint& made, const LocalNode& node, mcapi_port_t port) {
  made.domain = node.domain;
  made.node = node.node;
  made.port = port;
  made.owner = node.index;
  made.gets.store(0, std::memory_order_relaxed);
  for (auto& getters : made.getters) getters.store(0, std::memory_order_relaxed);
  made.died.store(0, std::memory_order_relaxed);
  made.max_payload = MCAPI_MAX_MSG_SIZE;
  made.memory_type = MCAPI_ENDP_ATTR_BLOCK;
  made.priorities = MCAPI_MAX_PRIORITIES;
  made.channel_priority = 0;
  made.send_buffers = kSendBuffers;
  made.receive_buffers = kReceiveBuffers;
  made.timeout = MCAPI_TIMEOUT_INFINITE;
  made.kind.store(MCAPI_ENDP_ATTR_TYPE_MESSAGE, std::memory_order_relaxed);
  made.status.store(0, std::memory_order_relaxed);
  made.peer.store(0, std::memory_order_relaxed);
  made.sent.store(0, std::memory_order_relaxed);
}

mcapi_status_t create(LocalNode& node, mcapi_port_t port, mcapi_endpoint_t& out) {
  if (port != MCAPI_PORT_ANY && port > MCAPI_MAX_PORT) return MCAPI_ERR_PORT_INVALID;
  const UniverseLock lock;
  Universe& all = universe();
  if (port == MCAPI_PORT_ANY)
    for (port = kFirstFreePort; find_endpoint(node.domain, node.node, port) != kNobody;) ++port;
  else if (find_endpoint(node.domain, node.node, port) != kNobody) return MCAPI_ERR_ENDP_EXISTS;
  for (std::uint32_t i = 0; i < kMaxEndpoints; ++i) {
    Endpoint& made = all.endpoints[i];
    const std::uint32_t generation = made.generation.load(std::memory_order_acquire);
    if (generation % 2 == 1) continue;
    set_up(made, node, port);
    empty_queue(made, generation + 1);
    made.generation.store(generation + 1, std::memory_order_release);
    if (all.endpoints_used.load(std::memory_order_relaxed) <= i) all.endpoints_used.store(i + 1, std::memory_order_release);
    out = handle_of(i, generation + 1);
    ring_all();
    return MCAPI_SUCCESS;
  }
  return MCAPI_ERR_MEM_LIMIT;
}

mcapi_status_t remove(LocalNode& node, mcapi_endpoint_t endpoint) {
  const mcapi_status_t own = check_own(node, endpoint);
  if (own != MCAPI_SUCCESS) return own;
  const UniverseLock lock;
  const std::uint32_t status = at(endpoint).status.load(std::memory_order_acquire);
  if (status & (MCAPI_ENDP_STATUS_OPEN | MCAPI_ENDP_STATUS_OPEN_PENDING)) return MCAPI_ERR_CHAN_OPEN;
  if (status & MCAPI_ENDP_STATUS_CONNECTED) return MCAPI_ERR_CHAN_CONNECTED;
  remove_endpoint(index_of(endpoint));
  ring_all();
  return MCAPI_SUCCESS;
}

mcapi_status_t release(LocalNode& node, mcapi_endpoint_t endpoint) {
  const mcapi_status_t status = check_endpoint(endpoint);
  if (status != MCAPI_SUCCESS) return status;
  Endpoint& released = at(endpoint);
  const std::uint64_t bit = std::uint64_t{1} << node.index % 64;
  if (!(released.getters[node.index / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit)) return MCAPI_ERR_ENDP_INVALID;
  std::uint32_t gets = released.gets.load(std::memory_order_relaxed);
  while (gets > 0 && !released.gets.compare_exchange_weak(gets, gets - 1, std::memory_order_acq_rel)) {
  }
  return MCAPI_SUCCESS;
}

std::atomic<std::uint32_t>* settable(Endpoint& endpoint, mcapi_uint_t number) {
  switch (number) {
    case MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE: return &endpoint.max_payload;
    case MCAPI_ENDP_ATTR_MEMORY_TYPE: return &endpoint.memory_type;
    case MCAPI_ENDP_ATTR_NUM_PRIORITIES: return &endpoint.priorities;
    case MCAPI_ENDP_ATTR_PRIORITY: return &endpoint.channel_priority;
    case MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS: return &endpoint.send_buffers;
    case MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS: return &endpoint.receive_buffers;
    case MCAPI_ENDP_ATTR_TIMEOUT: return &endpoint.timeout;
    default: return nullptr;
  }
}

bool is_legal(const Endpoint& endpoint, mcapi_uint_t number, std::uint32_t value) {
  switch (number) {
    case MCAPI_ENDP_ATTR_MAX_PAYLOAD_SIZE: return value > 0 && value <= MCAPI_MAX_MSG_SIZE;
    case MCAPI_ENDP_ATTR_MEMORY_TYPE: return value == MCAPI_ENDP_ATTR_BLOCK || value == MCAPI_ENDP_ATTR_FAIL;
    case MCAPI_ENDP_ATTR_NUM_PRIORITIES: return value > 0 && value <= MCAPI_MAX_PRIORITIES;
    case MCAPI_ENDP_ATTR_PRIORITY: return value < endpoint.priorities;
    case MCAPI_ENDP_ATTR_NUM_SEND_BUFFERS:
    case MCAPI_ENDP_ATTR_NUM_RECV_BUFFERS: return value > 0;
    default: return true;
  }
}

mcapi_status_t get_attribute(LocalNode& node, mcapi_endpoint_t handle, mcapi_uint_t number, void* value, std::size_t size) {
  if (!value) return MCAPI_ERR_PARAMETER;
  const mcapi_status_t status = check_endpoint(handle);
  if (status != MCAPI_SUCCESS) return status;
  Endpoint& endpoint = at(handle);
  if (number > MCAPI_ENDP_ATTR_TIMEOUT) return MCAPI_ERR_ATTR_NUM;
  if (size != sizeof(mcapi_uint_t)) return MCAPI_ERR_ATTR_SIZE;
  mcapi_uint_t answer = 0;
  if (const std::atomic<std::uint32_t>* const set = settable(endpoint, number)) answer = *set;
  switch (number) {
    case MCAPI_ENDP_ATTR_TYPE: answer = endpoint.kind.load(std::memory_order_acquire); break;
    case MCAPI_ENDP_ATTR_GET_COUNT: answer = endpoint.gets.load(std::memory_order_acquire); break;
    case MCAPI_ENDP_ATTR_GET_SOURCE: answer = endpoint.owner == node.index ? MCAPI_FALSE : MCAPI_TRUE; break;
    case MCAPI_ENDP_ATTR_BUFFER_TYPE: answer = MCAPI_ENDP_ATTR_FIFO_BUFFER; break;
    case MCAPI_ENDP_ATTR_STATUS:
      answer = endpoint.status.load(std::memory_order_acquire);
      if (endpoint.owner == node.index && lying(handle) > 0) answer |= MCAPI_ENDP_STATUS_AVAILABLE;
      break;
    default: break;
  }
  std::memcpy(value, &answer, sizeof answer);
  return MCAPI_SUCCESS;
}

mcapi_status_t set_attribute(LocalNode& node, mcapi_endpoint_t handle, mcapi_uint_t number, const void* value, std::size_t size) {
  if (!value) return MCAPI_ERR_PARAMETER;
  const mcapi_status_t status = check_endpoint(handle);
  if (status != MCAPI_SUCCESS) return status;
  Endpoint& endpoint = at(handle);
  if (endpoint.owner != node.index) return MCAPI_ERR_ENDP_REMOTE;
  if (number > MCAPI_ENDP_ATTR_TIMEOUT) return MCAPI_ERR_ATTR_NUM;
  std::atomic<std::uint32_t>* const set = settable(endpoint, number);
  if (!set) return number == MCAPI_ENDP_ATTR_BUFFER_TYPE ? MCAPI_ERR_ATTR_NOTSUPPORTED : MCAPI_ERR_ATTR_READONLY;
  if (size != sizeof(mcapi_uint_t)) return MCAPI_ERR_ATTR_SIZE;
  if (endpoint.status.load(std::memory_order_acquire) & MCAPI_ENDP_STATUS_CONNECTED) return MCAPI_ERR_CHAN_CONNECTED;
  mcapi_uint_t wanted;
  std::memcpy(&wanted, value, sizeof wanted);
  if (!is_legal(endpoint, number, wanted)) return MCAPI_ERR_ATTR_VALUE;
  *set = wanted;
  return MCAPI_SUCCESS;
}

mcapi_status_t check_address(mcapi_domain_t domain, mcapi_node_t node, mcapi_port_t port) {
  if (domain > MCAPI_MAX_DOMAIN) return MCAPI_ERR_DOMAIN_INVALID;
  if (node > MCAPI_MAX_NODE) return MCAPI_ERR_NODE_INVALID;
  return port > MCAPI_MAX_PORT ? MCAPI_ERR_PORT_INVALID : MCAPI_SUCCESS;
}

}  // namespace

// Its channel's other end hears of it, and who sends to it is told that it is gone.
void remove_endpoint(std::uint32_t index) {
  Endpoint& endpoint = universe().endpoints[index];
  const std::uint32_t generation = endpoint.generation.load(std::memory_order_acquire);
  const std::uint64_t peer = endpoint.peer.exchange(0, std::memory_order_acq_rel);
  if (peer != 0 && check_endpoint(peer) == MCAPI_SUCCESS) at(peer).status.fetch_or(MCAPI_ENDP_STATUS_BROKEN, std::memory_order_acq_rel);
  endpoint.generation.store(generation + 1, std::memory_order_release);
  empty_queue(endpoint, generation + 1);
}

mcapi_status_t get_endpoint(LocalNode& node, mcapi_domain_t domain, mcapi_node_t owner, mcapi_port_t port, mcapi_endpoint_t& out) {
  const UniverseLock lock;
  const std::uint32_t index = find_endpoint(domain, owner, port);
  if (index == kNobody) return MCAPI_PENDING;
  Endpoint& found = universe().endpoints[index];
  if (found.gets.load(std::memory_order_relaxed) >= kMaxGets) return MCAPI_ERR_ENDP_GET_LIMIT;
  found.gets.fetch_add(1, std::memory_order_acq_rel);
  found.getters[node.index / 64].fetch_or(std::uint64_t{1} << node.index % 64, std::memory_order_acq_rel);
  out = handle_of(index, found.generation.load(std::memory_order_acquire));
  return MCAPI_SUCCESS;
}

bool is_orphan(mcapi_endpoint_t handle) {
  const Endpoint& endpoint = at(handle);
  if (endpoint.died.load(std::memory_order_acquire) == 0) return false;
  for (std::uint32_t i = 0; i < kMaxNodes / 64; ++i) {
    std::uint64_t others = endpoint.getters[i].load(std::memory_order_acquire);
    if (endpoint.owner / 64 == i) others &= ~(std::uint64_t{1} << endpoint.owner % 64);
    if (others != 0) return false;
  }
  return true;
}

}  // namespace mcapi

using namespace mcapi;

mcapi_endpoint_t mcapi_endpoint_create(mcapi_port_t port, mcapi_status_t* status) {
  mcapi_endpoint_t made = 0;
  LocalNode* const node = this_node();
  const mcapi_status_t result = node ? create(*node, port, made) : MCAPI_ERR_NODE_NOTINIT;
  if (status) *status = result;
  return made;
}

void mcapi_endpoint_get_i(mcapi_domain_t domain, mcapi_node_t owner, mcapi_port_t port, mcapi_endpoint_t* endpoint,
                          mcapi_request_t* request, mcapi_status_t* status) {
  post(request, status, endpoint ? check_address(domain, owner, port) : MCAPI_ERR_PARAMETER, [&](Request& made) {
    made.operation = Operation::GetEndpoint;
    made.domain = domain;
    made.node = owner;
    made.port = port;
    made.buffer = endpoint;
  });
}

mcapi_endpoint_t mcapi_endpoint_get(mcapi_domain_t domain, mcapi_node_t owner, mcapi_port_t port, mcapi_timeout_t timeout,
                                    mcapi_status_t* status) {
  mcapi_endpoint_t found = 0;
  LocalNode* const node = this_node();
  mcapi_status_t result = node ? check_address(domain, owner, port) : MCAPI_ERR_NODE_NOTINIT;
  if (result == MCAPI_SUCCESS && !wait_until(*node, timeout, [&] {
        result = get_endpoint(*node, domain, owner, port, found);
        return result != MCAPI_PENDING;
      }))
    result = MCAPI_TIMEOUT;
  if (status) *status = result;
  return found;
}

void mcapi_endpoint_release(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  LocalNode* const node = this_node();
  const mcapi_status_t result = node ? release(*node, endpoint) : MCAPI_ERR_NODE_NOTINIT;
  if (status) *status = result;
}

void mcapi_endpoint_delete(mcapi_endpoint_t endpoint, mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_ERR_NODE_NOTINIT;
  if (LocalNode* const node = this_node()) {
    const std::lock_guard guard(node->lock);
    progress(*node);
    result = remove(*node, endpoint);
    progress(*node);  // whatever waits for something there is told
  }
  if (status) *status = result;
}

void mcapi_endpoint_get_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, void* value, size_t size,
                                  mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_ERR_NODE_NOTINIT;
  if (LocalNode* const node = this_node()) {
    const std::lock_guard guard(node->lock);
    result = get_attribute(*node, endpoint, number, value, size);
  }
  if (status) *status = result;
}

void mcapi_endpoint_set_attribute(mcapi_endpoint_t endpoint, mcapi_uint_t number, const void* value, size_t size,
                                  mcapi_status_t* status) {
  LocalNode* const node = this_node();
  const mcapi_status_t result = node ? set_attribute(*node, endpoint, number, value, size) : MCAPI_ERR_NODE_NOTINIT;
  if (status) *status = result;
}
