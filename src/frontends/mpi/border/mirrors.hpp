// Windows of a program that was compiled with `reprise cc`, at the fidelity of single accesses (OPR, sections 4 and 7).
//
// Recording: the program works on a private copy of each window (engine/mirror.hpp). Before each load, what is there now is compared
// with what the program would load; if it is something else, that is logged, and shown in the copy. Solo replay: the copy is all there
// is, and loads are counted, so that each shows what it showed then.
#pragma once

#include <cstdint>

#include "frontends/mpi/border/windows.hpp"

namespace reprise::mpi {

// This rank is recorded, or replayed, in this way.
bool follows_accesses();

// Recording: memory that the library is to have in place of the program's, with the same content. Null: there is none.
void* make_real_memory(std::uint64_t size);
void free_real_memory(void* memory, std::uint64_t size);

// The program sees `size` bytes of region `region` at `program`; recording, others see them at `mirror->real()`.
void follow_region(BorderWindow& window, std::uint32_t region, void* program, std::uint64_t size, engine::Mirror* mirror);
void forget_region(const void* program);
void forget_regions(const BorderWindow& window);
void forget_all_regions();

// Where others see what the program sees at this address; the same if it has no copy.
void* real_address(const void* program);
// The library has written these bytes of the real memory, for this rank: the program sees them, too.
void show_real_bytes(const void* program, std::uint64_t size);

// The store behind the last hook has happened.
void publish_waiting();
// So has what a call has written for the program, wherever that was.
void publish_written(const void* program, std::uint64_t size);
// So has whatever code without hooks has stored in this window.
void publish_unhooked(BorderWindow& window);

// Functions of the program that a call calls (MPI_Op_create) may load: in a replay nobody calls them.
void count_no_loads();
// Loads of this thread since its last call that could show something, and the next one that showed something.
void count_loads_anew();
// What the look, or a load behind it, has found: an entry of the data.
void add_look(engine::DataKind kind, const BorderWindow& window, const engine::SeenMemory::Look& look, std::int64_t last_field);
// Entries say behind which look a load was.
std::int64_t looks_so_far();
// Replaying, behind the last load that showed something: what is shown before the next call.
void take_late_looks();
void show_look(const engine::DataEntry& entry);

}  // namespace reprise::mpi
