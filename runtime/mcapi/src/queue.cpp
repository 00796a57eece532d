// The queues of endpoints: many push, the owner pops.
#include "local_node.hpp"

namespace mcapi {

mcapi_status_t check_endpoint(mcapi_endpoint_t endpoint) {
  const std::uint32_t index = index_of(endpoint);
  const std::uint32_t generation = generation_of(endpoint);
  if (index >= kMaxEndpoints || generation % 2 == 0) return MCAPI_ERR_ENDP_INVALID;
  const std::uint32_t current = universe().endpoints[index].generation.load(std::memory_order_acquire);
  if (current == generation) return MCAPI_SUCCESS;
  return static_cast<std::int32_t>(current - generation) > 0 ? MCAPI_ERR_ENDP_DELETED : MCAPI_ERR_ENDP_INVALID;
}

mcapi_status_t check_own(const LocalNode& node, mcapi_endpoint_t endpoint) {
  const mcapi_status_t status = check_endpoint(endpoint);
  return status == MCAPI_SUCCESS && at(endpoint).owner != node.index ? MCAPI_ERR_ENDP_NOTOWNER : status;
}

mcapi_status_t push(mcapi_endpoint_t to, std::uint32_t number) {
  Endpoint& endpoint = at(to);
  Block& pushed = block(number);
  std::atomic<std::uint64_t>& inbox = endpoint.inbox[pushed.priority];
  const std::uint64_t generation = to & ~std::uint64_t{UINT32_MAX};
  const std::uint32_t owner = endpoint.owner;
  std::uint64_t head = inbox.load(std::memory_order_acquire);
  for (;;) {
    if ((head & ~std::uint64_t{UINT32_MAX}) != generation) return MCAPI_ERR_ENDP_DELETED;
    const auto before = static_cast<std::uint32_t>(head);
    const std::uint32_t depth = before == kNoBlock ? 0 : block(before).depth.load(std::memory_order_relaxed);
    if (depth + endpoint.taken.load(std::memory_order_relaxed) >= endpoint.receive_buffers) {
      const std::uint64_t again = inbox.load(std::memory_order_acquire);
      if (again == head) return MCAPI_PENDING;
      head = again;  // the owner has taken them: the depth may be of something else by now
      continue;
    }
    pushed.depth.store(depth + 1, std::memory_order_relaxed);
    pushed.next.store(before, std::memory_order_relaxed);
    pushed.holder.store(0, std::memory_order_relaxed);
    if (inbox.compare_exchange_weak(head, generation | number, std::memory_order_acq_rel, std::memory_order_acquire)) break;
  }
  ring(owner);
  return MCAPI_SUCCESS;
}

namespace {

// What has come since, in the order in which it came.
void take_inbox(Endpoint& endpoint, unsigned priority, std::uint64_t generation) {
  std::atomic<std::uint64_t>& inbox = endpoint.inbox[priority];
  if (static_cast<std::uint32_t>(inbox.load(std::memory_order_relaxed)) == kNoBlock) return;
  auto number = static_cast<std::uint32_t>(inbox.exchange(generation, std::memory_order_acq_rel));
  const std::uint32_t last = number;
  std::uint32_t first = kNoBlock, count = 0;
  while (number != kNoBlock) {
    Block& one = block(number);
    const std::uint32_t next = one.next.load(std::memory_order_relaxed);
    one.next.store(first, std::memory_order_relaxed);
    first = number;
    number = next;
    ++count;
  }
  if (endpoint.first[priority].load(std::memory_order_relaxed) == kNoBlock) endpoint.first[priority].store(first, std::memory_order_relaxed);
  else block(endpoint.last[priority]).next.store(first, std::memory_order_relaxed);
  endpoint.last[priority] = last;
  endpoint.taken.fetch_add(count, std::memory_order_relaxed);
}

void take_all(Endpoint& endpoint, mcapi_endpoint_t handle) {
  const std::uint64_t generation = handle & ~std::uint64_t{UINT32_MAX};
  for (unsigned priority = 0; priority < endpoint.priorities; ++priority) take_inbox(endpoint, priority, generation);
}

}  // namespace

std::uint32_t lying(mcapi_endpoint_t handle) {
  Endpoint& endpoint = at(handle);
  take_all(endpoint, handle);
  return endpoint.taken.load(std::memory_order_relaxed);
}

std::uint32_t pop(mcapi_endpoint_t handle) {
  Endpoint& endpoint = at(handle);
  take_all(endpoint, handle);
  for (unsigned priority = 0; priority < endpoint.priorities; ++priority) {
    const std::uint32_t number = endpoint.first[priority].load(std::memory_order_relaxed);
    if (number == kNoBlock) continue;
    Block& popped = block(number);
    endpoint.first[priority].store(popped.next.load(std::memory_order_relaxed), std::memory_order_relaxed);
    popped.holder.store(own_process() + 1, std::memory_order_relaxed);
    endpoint.taken.fetch_sub(1, std::memory_order_seq_cst);
    made_room();
    return number;
  }
  return kNoBlock;
}

}  // namespace mcapi
