// Requests of the program, known by where they lie: what they hold is the runtime's own affair.
#pragma once

#include <mcapi.h>

#include <cstddef>
#include <optional>

#include "frontends/mcapi/endpoints.hpp"

namespace reprise::mcapi {

struct PendingRequest {
  enum class Kind { Receive, ReceivePacket, GetEndpoint, Other } kind = Kind::Other;
  mcapi_endpoint_t endpoint = 0;  // of a receive
  void* buffer = nullptr;         // and where an endpoint that is got comes to lie
  std::size_t size = 0;
  EndpointName name;       // of that
  void* memory = nullptr;  // of our own, with room for a trailer
  bool in_order = true;    // once it is complete: no receive that was posted before at that endpoint is pending
};

void remember_request(const mcapi_request_t* request, const PendingRequest& pending);
std::optional<PendingRequest> known_request(const mcapi_request_t* request);
// It is complete. Nothing: it is not known. Its memory is the caller's now.
std::optional<PendingRequest> forget_request(const mcapi_request_t* request);
// Are receives posted at that endpoint?
bool has_posted_receives(mcapi_endpoint_t endpoint);

}  // namespace reprise::mcapi
