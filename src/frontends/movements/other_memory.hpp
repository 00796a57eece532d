// What was read from the memory of other processes, and written to it.
#pragma once

#include "frontends/movements/hooks.hpp"

namespace reprise::movements {

void pulled(pid_t process, Pieces own, Pieces theirs, ssize_t bytes, const void* caller);
void pushed(pid_t process, Pieces own, Pieces theirs, ssize_t bytes, const void* caller);
// Memory has come, or has gone.
void mapped(const void* address, std::size_t bytes, bool shared);
void unmapped(const void* address, std::size_t bytes);

}  // namespace reprise::movements
