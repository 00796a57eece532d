// Messages on their way through the runtime, with what tells us which they are. Where the runtime does not say it (identity.hpp), they travel
// in memory of our own, with a trailer or so that we see all of them; the program sees nothing of that, recorded or not.
#pragma once

#include <mcapi.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "frontends/mcapi/identity.hpp"
#include "frontends/mcapi/requests.hpp"

namespace reprise::mcapi {

void send_message(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, std::size_t size, mcapi_priority_t priority, mcapi_status_t* status);
// What it returns (or null) is to be freed when the request is complete.
void* post_send(mcapi_endpoint_t from, mcapi_endpoint_t to, const void* buffer, std::size_t size, mcapi_priority_t priority, mcapi_request_t* request,
                mcapi_status_t* status);

struct Delivered {
  mcapi_status_t status = MCAPI_ERR_GENERAL;
  std::size_t size = 0;          // of what the program gets
  std::optional<Origin> origin;  // not known: it has no trailer
  std::uint64_t digest = 0;      // then, of all of it
};

// Of a message that came to where there was that much room, this much can be seen of any.
inline constexpr std::size_t kUsualLargest = 65536;
inline std::size_t seen_of(std::size_t size, std::size_t room) { return std::min(size, std::max(room, kUsualLargest)); }

inline bool brought_something(mcapi_status_t status) { return status == MCAPI_SUCCESS || status == MCAPI_ERR_MSG_TRUNCATED; }

Delivered receive_message(mcapi_endpoint_t at, void* buffer, std::size_t room);
// The memory that the message comes to; null: the program's own.
void* post_receive(mcapi_endpoint_t at, void* buffer, std::size_t room, mcapi_request_t* request, mcapi_status_t* status);
// The request of a receive is complete.
Delivered deliver(const PendingRequest& request, std::size_t size, mcapi_status_t status);

}  // namespace reprise::mcapi
