#include "frontends/mpi/check/allocations.hpp"

#include <dlfcn.h>

#include <string>

#include "frontends/mpi/border/world.hpp"
#include "frontends/mpi/check/report.hpp"

namespace reprise::mpi::check {
namespace {

struct Room {
  std::uintptr_t begin = 0;
  std::size_t size = 0;
};

// What is left of the allocation that the address lies in.
bool find_room(const void* address, Room& room) {
  using Lookup = bool (*)(const void*, std::uintptr_t*, std::size_t*);
  static const auto lookup = reinterpret_cast<Lookup>(dlsym(RTLD_DEFAULT, "reprise_allocation_at"));
  return lookup && lookup(address, &room.begin, &room.size);
}

}  // namespace

void check_room(const void* from, std::uint64_t size, const char* name) {
  Room room;
  if (size == 0 || !from || !find_room(from, room)) return;
  const std::uint64_t before = reinterpret_cast<std::uintptr_t>(from) - room.begin;
  const std::uint64_t left = room.size > before ? room.size - before : 0;
  if (size <= left) return;
  const std::string words = std::string(name) + " has " + std::to_string(size) + " bytes, but of the " +
                            std::to_string(room.size) + " that were allocated only " + std::to_string(left) +
                            " are left there";
  if (host().end) host().end(Category::SmallBuffer, MPI_ERR_BUFFER, words.c_str());
  else report(Category::SmallBuffer, here(), words.c_str());
}

// A type may have holes at its ends, and elements may lie in any order (MPI 4.0, 5.1.6).
void check_room(const void* buffer, std::int64_t first, std::int64_t count, MPI_Datatype type, const char* name) {
  if (count <= 0 || !buffer || buffer == MPI_IN_PLACE) return;
  using Extents = int (*)(MPI_Datatype, MPI_Aint*, MPI_Aint*);
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  singleton_function<Extents>(Function::Type_get_extent)(type, &lower, &extent);
  singleton_function<Extents>(Function::Type_get_true_extent)(type, &true_lower, &true_extent);
  const std::int64_t steps = (count - 1) * extent;
  const std::int64_t begin = first * extent + true_lower + (steps < 0 ? steps : 0);
  const std::int64_t size = true_extent + (steps < 0 ? -steps : steps);
  if (size > 0) check_room(static_cast<const char*>(buffer) + begin, static_cast<std::uint64_t>(size), name);
}

}  // namespace reprise::mpi::check
