// Which message a receive got (DR-MCAPI, section 3.3.2). The paper knows a message by a CRC of its bytes, and confuses equal ones; here
// it is the next one of its lane: of those that one endpoint sends to another with the same priority, which come in order.
#pragma once

#include <mcapi.h>

#include <cstddef>

#include "engine/call_stream.hpp"

namespace reprise::mcapi {

// Recording: after a call that has brought a message.
void log_origin();
// Replaying: waits until the message that the log names has come to the endpoint, and takes it. Those of other lanes that come before
// are kept until they are wanted.
mcapi_status_t take_message(mcapi_endpoint_t endpoint, void* buffer, std::size_t room, std::size_t& size);

}  // namespace reprise::mcapi
