// What a message is made of, and taken from.
#pragma once

#include "local_node.hpp"

namespace mcapi {

// A block with these bytes, from that endpoint. kNoBlock: there is no room.
std::uint32_t wrap(mcapi_endpoint_t from, const void* bytes, std::size_t size, mcapi_priority_t priority, unsigned width = 0);
// Its bytes, and the block is free. MCAPI_ERR_MSG_TRUNCATED: there was not room for all.
mcapi_status_t hand_over(std::uint32_t block, void* buffer, std::size_t capacity, std::size_t& size);
// Sends now, or when there is room.
mcapi_status_t send_in_time(LocalNode& node, mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, std::size_t size,
                            mcapi_priority_t priority, unsigned width = 0);
// The next block for a blocking receive, after those that nonblocking ones wait for.
mcapi_status_t receive_in_time(LocalNode& node, mcapi_endpoint_t at, std::uint32_t& block);
void send_later(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* bytes, std::size_t size, mcapi_priority_t priority,
                mcapi_request_t* request, mcapi_status_t* status, mcapi_status_t wrong);

}  // namespace mcapi
