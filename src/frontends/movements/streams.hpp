// What was written to descriptors, and read from them.
#pragma once

#include "frontends/movements/hooks.hpp"

namespace reprise::movements {

// Counted, and told. `bytes`: what the call has returned.
void wrote(int fd, Pieces pieces, ssize_t bytes, std::uint64_t began, const void* caller);
void did_read(int fd, Pieces pieces, ssize_t bytes, const void* caller);
// When a call begins, if somebody wants to know: others may have read what is written before it returns.
std::uint64_t beginning();
// The descriptor is another one from now on.
void forget_stream(int fd);

}  // namespace reprise::movements
