// What an explored rank cannot do.
#pragma once

namespace reprise::mpi::live {

// Ends the whole exploration with this reason.
[[noreturn]] void refuse(const char* call, const char* reason);

}  // namespace reprise::mpi::live
