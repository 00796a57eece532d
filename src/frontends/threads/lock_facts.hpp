// What glibc's objects say about who holds them, and what else could wake a thread that waits.
//
// Objects are read as debuggers read them: they may be in memory that is not there any more.
#pragma once

#include <cstdint>

namespace reprise::threads {

// Who holds it, by kernel id; 0: nobody, or that cannot be told (it is shared with other processes).
int mutex_owner(std::uint64_t address);

enum class Access { None, Writer, Readers };
Access rwlock_holder(std::uint64_t address, int& writer);

bool is_shared_condition(std::uint64_t address);

// Does a signal that may come at any time call a function of the program? That could do anything. (MPI libraries have
// handlers, too, for their own purposes.)
bool has_signal_handlers();

}  // namespace reprise::threads
