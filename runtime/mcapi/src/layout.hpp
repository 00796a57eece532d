// What the nodes of a universe share. Everything is named by its index, because each process has it mapped elsewhere.
//
// A node may die at any moment, between any two instructions. So whatever several nodes change is changed by one atomic step, or
// under a lock that survives its owner; a queue is never half changed.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "mcapi.h"

namespace mcapi {

inline constexpr std::uint32_t kMagic = 0x4d434150;
inline constexpr std::uint32_t kLayout = 1;  // other versions of this file cannot share a universe
inline constexpr std::uint32_t kMaxProcesses = 256;
inline constexpr std::uint32_t kMaxNodes = 512;
inline constexpr std::uint32_t kMaxEndpoints = 4096;
inline constexpr std::uint32_t kMaxGets = 65535;
inline constexpr std::uint32_t kNobody = UINT32_MAX;
inline constexpr std::uint32_t kNoBlock = 0;  // blocks are counted from 1

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);

// A message, packet or scalar: this, and its bytes.
struct alignas(64) Block {
  std::atomic<std::uint32_t> next;    // in whatever list it is in
  std::atomic<std::uint32_t> holder;  // the process that has it now, by its slot + 1; 0 in lists
  std::uint32_t size;
  std::atomic<std::uint32_t> depth;  // of the inbox, with this one
  std::uint8_t size_class;
  std::uint8_t width;  // of a scalar, in bytes
  std::uint8_t priority;
  mcapi_domain_t domain;  // the sender
  mcapi_node_t node;
  mcapi_port_t port;
  std::uint64_t number;
};
static_assert(sizeof(Block) == 64);

struct SizeClass {
  std::uint32_t bytes;
  std::uint32_t count;
};
inline constexpr SizeClass kSizeClasses[] = {{64, 65536}, {448, 32768}, {4032, 4096}, {65536, 512}};
inline constexpr unsigned kClasses = 4;

struct Process {
  std::atomic<std::uint32_t> is_there;
};

struct alignas(64) Node {
  std::atomic<std::uint32_t> is_there;
  mcapi_domain_t domain;
  mcapi_node_t node;
  std::uint32_t process;
  mcapi_uint_t type;
  // Rings when anything has happened that the node may be waiting for.
  alignas(64) std::atomic<std::uint32_t> bell;
  std::atomic<std::uint32_t> waiting;
  std::atomic<std::uint32_t> wants_room;  // how many of its sends wait for some
};

struct alignas(64) Endpoint {
  // Its generation, if it is there: odd while it is. A handle of an earlier one is not taken for it.
  std::atomic<std::uint32_t> generation;
  mcapi_domain_t domain;
  mcapi_node_t node;
  mcapi_port_t port;
  std::atomic<std::uint32_t> owner;  // node
  std::atomic<std::uint32_t> gets;
  std::atomic<std::uint64_t> getters[kMaxNodes / 64];  // nodes that have got it and are there
  std::atomic<std::uint32_t> died;                     // others had, and died

  // Attributes.
  std::atomic<std::uint32_t> max_payload;
  std::atomic<std::uint32_t> memory_type;
  std::atomic<std::uint32_t> priorities;
  std::atomic<std::uint32_t> channel_priority;
  std::atomic<std::uint32_t> send_buffers;
  std::atomic<std::uint32_t> receive_buffers;
  std::atomic<std::uint32_t> timeout;

  // The channel, changed under the universe's lock.
  std::atomic<std::uint32_t> kind;    // MCAPI_ENDP_ATTR_TYPE_...
  std::atomic<std::uint32_t> status;  // MCAPI_ENDP_STATUS_...
  std::atomic<std::uint64_t> peer;    // a handle

  std::atomic<std::uint64_t> sent;  // by it

  // What has come and was not looked at yet, last first: the generation, and a block. So who pushes to an endpoint that is no
  // more fails. In one step it is pushed, or not.
  alignas(64) std::atomic<std::uint64_t> inbox[MCAPI_MAX_PRIORITIES];
  // And what the owner has taken from there, first first. Only the owner's.
  alignas(64) std::atomic<std::uint32_t> first[MCAPI_MAX_PRIORITIES];
  std::uint32_t last[MCAPI_MAX_PRIORITIES];
  std::atomic<std::uint32_t> taken;
};

struct Universe {
  std::atomic<std::uint32_t> magic;  // written last
  std::uint32_t layout;
  pthread_mutex_t lock;                        // for what is rare
  std::atomic<std::uint32_t> nodes_used;       // of the tables
  std::atomic<std::uint32_t> endpoints_used;
  std::atomic<std::uint32_t> wants_room;        // all nodes together
  std::atomic<std::int64_t> looked_for_dead;    // when, in milliseconds
  std::atomic<std::uint32_t> fresh[kClasses];   // blocks that were never used begin here
  alignas(64) std::atomic<std::uint64_t> free[kClasses];  // a count against ABA, and a block
  Process processes[kMaxProcesses];
  Node nodes[kMaxNodes];
  Endpoint endpoints[kMaxEndpoints];
};

}  // namespace mcapi
