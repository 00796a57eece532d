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
  EndpointName name;  // of that
};

void remember_request(const mcapi_request_t* request, const PendingRequest& pending);
// It is complete. Nothing: it is not known.
std::optional<PendingRequest> forget_request(const mcapi_request_t* request);

}  // namespace reprise::mcapi
