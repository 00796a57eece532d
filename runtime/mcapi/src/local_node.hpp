// A node, as its own process knows it: its requests, and which threads are it.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "universe.hpp"

namespace mcapi {

enum class Operation { Send, Receive, ReceivePacket, GetEndpoint, Connect, Open, Close };

struct Request {
  std::uint32_t number = 0;
  std::uint32_t generation = 0;  // odd while it is in use
  Operation operation = Operation::Send;
  mcapi_status_t status = MCAPI_PENDING;
  bool is_awaited = false;
  mcapi_endpoint_t endpoint = 0;  // of this node
  mcapi_endpoint_t other = 0;     // where it is sent to
  void* buffer = nullptr;         // where the outcome goes: of a receive, a void** of a packet, an endpoint
  std::size_t capacity = 0;
  std::size_t size = 0;
  std::uint32_t block = kNoBlock;  // that waits to be sent
  mcapi_domain_t domain = 0;       // of the endpoint that is to be got
  mcapi_node_t node = 0;
  mcapi_port_t port = 0;
  std::uint32_t kind = 0;  // of the channel that is to be opened
  bool sends = false;
  mcapi_domain_t from_domain = 0;  // whom a receive got it from
  mcapi_node_t from_node = 0;
  mcapi_port_t from_port = 0;
  mcapi_priority_t from_priority = 0;
  std::uint64_t from_number = 0;
};

class LocalNode {
 public:
  LocalNode(std::uint32_t index, mcapi_domain_t domain, mcapi_node_t node) : index(index), domain(domain), node(node) {}

  const std::uint32_t index;  // in the universe
  const mcapi_domain_t domain;
  const mcapi_node_t node;
  std::atomic<bool> is_over{false};
  std::mutex lock;  // of all that follows, and of what the owner of endpoints does with them

  // Null: there are too many.
  Request* new_request(mcapi_request_t& handle);
  Request* find(mcapi_request_t handle);
  void free(Request& request);
  // Of those that are not complete, in the order in which they were made.
  std::vector<Request*> pending;
  unsigned pending_receives = 0;
  std::atomic<unsigned> pending_sends{0};
  std::uint32_t heard = 0;  // the bell, when they were looked at last: nothing has changed since while it has not rung

 private:
  static constexpr std::size_t kMaxRequests = 16384;
  std::deque<Request> requests_;
  std::vector<std::uint32_t> free_;
};

// The node of this thread. A thread that has not initialized one belongs to the only one of its process, if there is just one.
// Null: there is none, or it is not known which.
LocalNode* this_node();
// This thread has initialized one.
bool is_node();
LocalNode* add_node(std::uint32_t index, mcapi_domain_t domain, mcapi_node_t node);
void remove_node(LocalNode* node);

// -- endpoints and their queues --

inline mcapi_endpoint_t handle_of(std::uint32_t index, std::uint32_t generation) {
  return static_cast<std::uint64_t>(generation) << 32 | (index + 1);
}
inline std::uint32_t index_of(mcapi_endpoint_t endpoint) { return static_cast<std::uint32_t>(endpoint) - 1; }
inline std::uint32_t generation_of(mcapi_endpoint_t endpoint) { return static_cast<std::uint32_t>(endpoint >> 32); }
// Success, or why it is none: MCAPI_ERR_ENDP_INVALID, or MCAPI_ERR_ENDP_DELETED if it has been one.
mcapi_status_t check_endpoint(mcapi_endpoint_t endpoint);
// The same, and it must be this node's.
mcapi_status_t check_own(const LocalNode& node, mcapi_endpoint_t endpoint);
inline Endpoint& at(mcapi_endpoint_t endpoint) { return universe().endpoints[index_of(endpoint)]; }

// How much lies there. By the owner, under its lock.
std::uint32_t lying(mcapi_endpoint_t at);
// Success, MCAPI_PENDING (there is no room), or why it cannot.
mcapi_status_t push(mcapi_endpoint_t to, std::uint32_t block);
// The first one, with the highest priority; then it is this process's. By the owner, under its lock.
std::uint32_t pop(mcapi_endpoint_t at);

// Does what can be done of pending requests. Under the node's lock.
void progress(LocalNode& node);

// Calls `done` under the node's lock, again after whatever may have changed its answer, until it is true. False: that took too
// long.
template <class Done>
bool wait_until(LocalNode& node, mcapi_timeout_t timeout, Done done);

// Whom this thread's last message came from.
void remember_origin(const Block& block);
void remember_origin(const Request& request);

}  // namespace mcapi

#include "wait.hpp"
