// A rank that is explored ends before any library is taken down: its own exit handlers and the destructors of its
// objects have run by then, and what libraries do at their end only takes time. A replay of an explored order ends in
// the same way, since what they do is not in its log.
#pragma once

namespace reprise::sys {

void leave_early();  // when this process ends

}  // namespace reprise::sys
