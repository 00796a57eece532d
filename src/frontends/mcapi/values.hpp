// The values that reach a node: kept beside its log, and given to it again when it runs without the others.
#pragma once

#include <mcapi.h>

#include <cstddef>

namespace reprise::mcapi {

// Recording: a message that a call brought.
void keep_message(const void* bytes, std::size_t size, mcapi_status_t status);
// Running alone: the same.
mcapi_status_t message_of_then(void* buffer, std::size_t room, std::size_t& size);

// What came through a channel: kept, or put in place of it; or neither. A packet that is put in place has memory of its own.
void keep_or_take_value(void* value, std::size_t size);
void keep_or_take_packet(void** packet, std::size_t& size);
bool free_made_up_packet(void* packet);

}  // namespace reprise::mcapi
