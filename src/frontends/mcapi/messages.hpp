// Which message a receive got: logged, and forced (DR-MCAPI, section 3.3.2).
#pragma once

#include <mcapi.h>

#include <cstddef>

#include "frontends/mcapi/delivery.hpp"

namespace reprise::mcapi {

// Recording: a call has brought it. `in_order`: all that came to the endpoint before have been brought, too, so that it is the next one of
// its lane.
void log_message(const Delivered& message, bool in_order);
// Replaying: waits until the message that the log names has come to the endpoint, and takes it. Those of other lanes that come before
// are kept until they are wanted.
mcapi_status_t take_message(mcapi_endpoint_t endpoint, void* buffer, std::size_t room, std::size_t& size);
// The same, where the first word about it has been read.
mcapi_status_t take_message(const Lane& lane, mcapi_endpoint_t endpoint, void* buffer, std::size_t room, std::size_t& size);
// The endpoint is about to be deleted, and another one may get its handle.
void drop_messages(mcapi_endpoint_t endpoint);

}  // namespace reprise::mcapi
