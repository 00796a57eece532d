// Who else may have been to move bytes on that nobody has moved.
#pragma once

#include "flow/blame.hpp"

namespace reprise::flow {

// A rank of a collective takes what another one has put somewhere at one place of the library or at another, as chance will have it: it
// was already waiting for it, or not. If nothing was seen to be moved, the log does not tell where that would have been.
bool has_alternatives(const Blame& blame, const Journey& journey);

// All places at which ranks take bytes that were put somewhere in the same way, in any of these movements of whatever bytes; the one that
// is blamed is not among them.
std::vector<Stage> alternatives(const Blame& blame, std::span<const Hop> hops);

}  // namespace reprise::flow
