// A call site as ranks write it into notes and reports: "offset|build-id|path" of the module that holds it. The path
// comes last, since it may contain anything. analyze/note_fields.hpp reads it.
#pragma once

#include <cstdint>
#include <string>

#include "base/loaded_modules.hpp"

namespace reprise {

// "||" if the return address belongs to no module, or is 0. `room` is the caller's, because it is too large for the
// stacks that a program may give its threads: if it is shared, the caller sees to it that one thread at a time uses it.
std::string site_text(std::uint64_t return_address, LoadedModule& room);

}  // namespace reprise
