#include "local_node.hpp"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "mcapi_origin.h"

namespace mcapi {
namespace {

std::mutex g_nodes_lock;
std::vector<std::unique_ptr<LocalNode>> g_nodes;        // those that are up
std::vector<std::unique_ptr<LocalNode>> g_former_nodes;  // other threads may be in a call of theirs
std::atomic<LocalNode*> g_only{nullptr};

thread_local LocalNode* t_node = nullptr;
thread_local bool t_has_origin = false;
thread_local mcapi_origin_t t_origin;

// A thread that ends without mcapi_finalize is a node that has died.
struct EndOfThread {
  pid_t process = 0;
  ~EndOfThread() {
    LocalNode* const node = t_node;
    if (!is_node() || process != getpid() || !g_universe.load(std::memory_order_acquire)) return;
    {
      const UniverseLock lock;
      bury(node->index);
    }
    remove_node(node);
    leave_universe();
  }
};
thread_local EndOfThread t_end;

void choose_only() { g_only.store(g_nodes.size() == 1 ? g_nodes[0].get() : nullptr, std::memory_order_release); }

void forked_child() {
  new (&g_nodes_lock) std::mutex;
  for (auto& node : g_nodes) g_former_nodes.push_back(std::move(node));  // its lock may be held by a thread that is not here
  g_nodes.clear();
  choose_only();
  t_node = nullptr;
}

}  // namespace

const bool Patience::kMayLook = sysconf(_SC_NPROCESSORS_ONLN) > 1;
thread_local Patience t_patience;

bool look_out(const std::atomic<std::uint32_t>& bell, std::uint32_t heard) {
  constexpr std::int64_t kNanoseconds = 30000;
  timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    for (unsigned i = 0; i < 64; ++i) {
      if (bell.load(std::memory_order_relaxed) != heard) return true;
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000 + now.tv_nsec - begin.tv_nsec < kNanoseconds);
  return false;
}

LocalNode* this_node() { return is_node() ? t_node : g_only.load(std::memory_order_acquire); }

// Another thread may have finalized it.
bool is_node() { return t_node && !t_node->is_over.load(std::memory_order_acquire); }

LocalNode* add_node(std::uint32_t index, mcapi_domain_t domain, mcapi_node_t node) {
  static const bool handled = pthread_atfork(nullptr, nullptr, forked_child) == 0;
  (void)handled;
  const std::lock_guard guard(g_nodes_lock);
  g_nodes.push_back(std::make_unique<LocalNode>(index, domain, node));
  t_node = g_nodes.back().get();
  t_end.process = getpid();
  choose_only();
  return t_node;
}

void remove_node(LocalNode* node) {
  const std::lock_guard guard(g_nodes_lock);
  node->is_over.store(true, std::memory_order_release);
  if (t_node == node) t_node = nullptr;
  for (auto one = g_nodes.begin(); one != g_nodes.end(); ++one) {
    if (one->get() != node) continue;
    g_former_nodes.push_back(std::move(*one));
    g_nodes.erase(one);
    break;
  }
  choose_only();
}

Request* LocalNode::new_request(mcapi_request_t& handle) {
  std::uint32_t number;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else if (requests_.size() < kMaxRequests) {
    number = static_cast<std::uint32_t>(requests_.size());
    requests_.emplace_back();
  } else {
    return nullptr;
  }
  Request& made = requests_[number];
  const std::uint32_t generation = made.generation + 1;
  made = {};
  made.number = number;
  made.generation = generation;
  handle = static_cast<std::uint64_t>(generation) << 32 | (number + 1);
  return &made;
}

Request* LocalNode::find(mcapi_request_t handle) {
  const std::uint32_t number = static_cast<std::uint32_t>(handle) - 1;
  if (number >= requests_.size() || requests_[number].generation != handle >> 32) return nullptr;
  return &requests_[number];
}

void LocalNode::free(Request& request) {
  ++request.generation;
  free_.push_back(request.number);
}

void remember_origin(const Block& block) {
  t_has_origin = true;
  t_origin = {block.domain, block.node, block.port, block.priority, block.number};
}

void remember_origin(const Request& request) {
  if (request.from_number == 0) return;
  t_has_origin = true;
  t_origin = {request.from_domain, request.from_node, request.from_port, request.from_priority, request.from_number};
}

bool last_origin(mcapi_origin_t& origin) {
  origin = t_origin;
  return t_has_origin;
}

}  // namespace mcapi

mcapi_boolean_t mcapi_origin_get(mcapi_origin_t* origin) { return origin && mcapi::last_origin(*origin) ? MCAPI_TRUE : MCAPI_FALSE; }
