// Nodes come and go.
#include <cstring>

#include "local_node.hpp"

namespace mcapi {

// The node's endpoints go with it, and those that it had got hear of it.
void bury(std::uint32_t number) {
  Universe& all = universe();
  Node& node = all.nodes[number];
  if (!node.is_there.load(std::memory_order_acquire)) return;
  const std::uint64_t bit = std::uint64_t{1} << number % 64;
  for (std::uint32_t i = 0; i < all.endpoints_used.load(std::memory_order_acquire); ++i) {
    Endpoint& endpoint = all.endpoints[i];
    if (endpoint.generation.load(std::memory_order_acquire) % 2 == 0) continue;
    if (endpoint.owner == number) {
      remove_endpoint(i);
    } else if (endpoint.getters[number / 64].fetch_and(~bit, std::memory_order_acq_rel) & bit) {
      endpoint.died.fetch_add(1, std::memory_order_acq_rel);
    }
  }
  all.wants_room.fetch_sub(node.wants_room.exchange(0, std::memory_order_acq_rel), std::memory_order_acq_rel);
  node.is_there.store(0, std::memory_order_release);
  ring_all();
}

namespace {

constexpr mcapi_uint_t kVersion = 1;

// Under the universe's lock.
std::uint32_t find_node(mcapi_domain_t domain, mcapi_node_t node) {
  Universe& all = universe();
  for (std::uint32_t i = 0; i < all.nodes_used.load(std::memory_order_acquire); ++i)
    if (all.nodes[i].is_there.load(std::memory_order_acquire) && all.nodes[i].domain == domain && all.nodes[i].node == node) return i;
  return kNobody;
}

std::uint32_t new_node(mcapi_domain_t domain, mcapi_node_t node, mcapi_uint_t type) {
  Universe& all = universe();
  for (std::uint32_t i = 0; i < kMaxNodes; ++i) {
    Node& one = all.nodes[i];
    if (one.is_there.load(std::memory_order_acquire)) continue;
    one.domain = domain;
    one.node = node;
    one.process = own_process();
    one.type = type;
    one.waiting.store(0, std::memory_order_relaxed);
    one.wants_room.store(0, std::memory_order_relaxed);
    one.is_there.store(1, std::memory_order_release);
    if (all.nodes_used.load(std::memory_order_relaxed) <= i) all.nodes_used.store(i + 1, std::memory_order_release);
    return i;
  }
  return kNobody;
}

mcapi_status_t initialize(mcapi_domain_t domain, mcapi_node_t node, const mcapi_node_attributes_t* attributes) {
  if (domain > MCAPI_MAX_DOMAIN) return MCAPI_ERR_DOMAIN_INVALID;
  if (node > MCAPI_MAX_NODE) return MCAPI_ERR_NODE_INVALID;
  if (is_node()) return MCAPI_ERR_NODE_INITIALIZED;
  if (!enter_universe()) return MCAPI_ERR_NODE_INITFAILED;
  look_for_dead_now();  // one of the same name may have been killed
  std::uint32_t number = kNobody;
  bool exists;
  {
    const UniverseLock lock;
    exists = find_node(domain, node) != kNobody;
    if (!exists) number = new_node(domain, node, attributes ? attributes->type : mcapi_uint_t{MCAPI_NODE_ATTR_TYPE_REGULAR});
  }
  if (number == kNobody) {
    leave_universe();
    return exists ? MCAPI_ERR_NODE_INITIALIZED : MCAPI_ERR_NODE_INITFAILED;
  }
  add_node(number, domain, node);
  return MCAPI_SUCCESS;
}

mcapi_status_t finalize() {
  LocalNode* const node = this_node();
  if (!node) return MCAPI_ERR_NODE_NOTINIT;
  {
    const std::lock_guard guard(node->lock);
    progress(*node);
    for (Request* const request : node->pending) {
      if (request->block != kNoBlock) give_block(request->block);
      request->status = MCAPI_ERR_REQUEST_CANCELLED;
    }
    node->pending_sends = 0;
    node->pending.clear();
    node->pending_receives = 0;
    const UniverseLock lock;
    Universe& all = universe();
    // It leaves in peace: nobody is told that it died.
    for (std::uint32_t i = 0; i < all.endpoints_used.load(std::memory_order_acquire); ++i)
      all.endpoints[i].getters[node->index / 64].fetch_and(~(std::uint64_t{1} << node->index % 64), std::memory_order_acq_rel);
    bury(node->index);
  }
  remove_node(node);
  leave_universe();
  return MCAPI_SUCCESS;
}

}  // namespace
}  // namespace mcapi

using namespace mcapi;

void mcapi_initialize(mcapi_domain_t domain, mcapi_node_t node, const mcapi_node_attributes_t* attributes, const mcapi_param_t*,
                      mcapi_info_t* info, mcapi_status_t* status) {
  if (!status) return;
  *status = initialize(domain, node, attributes);
  if (*status != MCAPI_SUCCESS || !info) return;
  *info = {MCAPI_VERSION, MCAPI_ORGANIZATION_ID, kVersion, MCAPI_MAX_DOMAIN + 1, kMaxNodes, kMaxEndpoints};
}

void mcapi_finalize(mcapi_status_t* status) {
  const mcapi_status_t result = finalize();
  if (status) *status = result;
}

mcapi_domain_t mcapi_domain_id_get(mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  if (status) *status = node ? MCAPI_SUCCESS : MCAPI_ERR_NODE_NOTINIT;
  return node ? node->domain : MCAPI_DOMAIN_INVALID;
}

mcapi_node_t mcapi_node_id_get(mcapi_status_t* status) {
  const LocalNode* const node = this_node();
  if (status) *status = node ? MCAPI_SUCCESS : MCAPI_ERR_NODE_NOTINIT;
  return node ? node->node : MCAPI_NODE_INVALID;
}

void mcapi_node_init_attributes(mcapi_node_attributes_t* attributes, mcapi_status_t* status) {
  if (attributes) *attributes = {};
  if (status) *status = attributes ? MCAPI_SUCCESS : MCAPI_ERR_PARAMETER;
}

void mcapi_node_get_attribute(mcapi_domain_t domain, mcapi_node_t node, mcapi_uint_t number, void* value, size_t size,
                              mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_SUCCESS;
  if (!value) {
    result = MCAPI_ERR_PARAMETER;
  } else if (!this_node()) {
    result = MCAPI_ERR_NODE_NOTINIT;
  } else if (number != MCAPI_NODE_ATTR_TYPE) {
    result = MCAPI_ERR_ATTR_NUM;
  } else if (size != sizeof(mcapi_uint_t)) {
    result = MCAPI_ERR_ATTR_SIZE;
  } else if (domain > MCAPI_MAX_DOMAIN) {
    result = MCAPI_ERR_DOMAIN_INVALID;
  } else {
    const UniverseLock lock;
    const std::uint32_t found = find_node(domain, node);
    if (found == kNobody) result = MCAPI_ERR_NODE_INVALID;
    else std::memcpy(value, &universe().nodes[found].type, sizeof(mcapi_uint_t));
  }
  if (status) *status = result;
}

void mcapi_node_set_attribute(mcapi_node_attributes_t* attributes, mcapi_uint_t number, void* value, size_t size,
                              mcapi_status_t* status) {
  mcapi_status_t result = MCAPI_SUCCESS;
  mcapi_uint_t type = 0;
  if (!attributes || !value) {
    result = MCAPI_ERR_PARAMETER;
  } else if (number != MCAPI_NODE_ATTR_TYPE) {
    result = MCAPI_ERR_ATTR_NUM;
  } else if (size != sizeof type) {
    result = MCAPI_ERR_ATTR_SIZE;
  } else {
    std::memcpy(&type, value, sizeof type);
    if (type != MCAPI_NODE_ATTR_TYPE_REGULAR) result = MCAPI_ERR_ATTR_VALUE;
    else attributes->type = type;
  }
  if (status) *status = result;
}
