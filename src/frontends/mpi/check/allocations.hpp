// Does what a call names as a buffer lie within what the program allocated? Known where libreprise-heap.so stands before
// malloc; of static memory and stacks nothing is known.
#pragma once

#include <cstdint>

#include "frontends/mpi/library.hpp"

namespace reprise::mpi::check {

// `size` bytes from there on. Otherwise: ends the run, or says so (Host).
void check_room(const void* from, std::uint64_t size, const char* name);
// So many elements, from the displacement `first` on, in elements.
void check_room(const void* buffer, std::int64_t first, std::int64_t count, MPI_Datatype type, const char* name);

}  // namespace reprise::mpi::check
