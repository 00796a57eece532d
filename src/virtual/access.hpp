// An access to the window of another rank, as it lies on the stage: its origin lays it down, the explorer sees where it
// goes and says when, and the target carries it out (MPI 4.0, chapter 12).
#pragma once

#include <cstddef>
#include <cstdint>

namespace reprise::virtual_world {

struct AccessBlock {
  enum class Kind : std::uint64_t { Put, Get, Accumulate, Fetch, Swap };
  struct Run {
    std::uint64_t begin = 0;  // from the beginning of the window; of a dynamic one, an address
    std::uint64_t size = 0;
  };

  std::uint64_t window = 0;
  Kind kind = Kind::Put;
  std::uint64_t operation = 0;  // MPI_Op, which is predefined, and so the same in all ranks
  std::uint64_t type = 0;       // MPI_Datatype of an element; predefined, too
  std::uint64_t elements = 0;
  std::uint64_t replaces = 0;  // the operation is MPI_REPLACE
  std::uint64_t reads = 0;     // the operation is MPI_NO_OP
  std::uint64_t given = 0;     // bytes that the origin gives; what is swapped in, and what must be there
  std::uint64_t wanted = 0;    // bytes that it gets
  std::uint64_t runs = 0;      // of the window's memory

  // Behind it: the runs, what is given, and room for what is wanted.
  static std::uint64_t in_words(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }
  std::uint64_t size() const { return sizeof *this + runs * sizeof(Run) + in_words(given) + in_words(wanted); }
  Run* run_list() { return reinterpret_cast<Run*>(this + 1); }
  const Run* run_list() const { return reinterpret_cast<const Run*>(this + 1); }
  char* data() { return reinterpret_cast<char*>(run_list() + runs); }
  char* result() { return data() + in_words(given); }
};

}  // namespace reprise::virtual_world
