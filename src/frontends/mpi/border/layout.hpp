// Which bytes of memory one element of a datatype is made of, in the order in which they travel.
//
// Not by taking the type's constructors apart (there are fifteen, and MPI_Type_create_darray is a program of its own):
// the library itself is asked, by packing an element whose bytes say where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/data_log.hpp"
#include "frontends/mpi/library.hpp"

namespace reprise::mpi {

struct Layout {
  struct Run {
    std::ptrdiff_t offset = 0;
    std::size_t size = 0;
  };
  std::vector<Run> runs;  // of one element
  std::size_t size = 0;   // of one element, without its holes
  std::ptrdiff_t extent = 0;
  bool solid = false;  // elements lie one behind the other without holes, from offset 0
  bool known = true;   // false: too large to be asked about

  // The first `bytes` bytes of `buffer`, an array of such elements.
  template <class Visit>
  void visit(void* buffer, std::uint64_t bytes, Visit visit) const {
    auto* base = static_cast<std::uint8_t*>(buffer);
    if (bytes == 0 || size == 0) return;
    if (solid) {
      visit(base, static_cast<std::size_t>(bytes));
      return;
    }
    for (; bytes > 0; base += extent) {
      for (const Run& run : runs) {
        const std::size_t now = run.size < bytes ? run.size : static_cast<std::size_t>(bytes);
        if (now == 0) return;
        visit(base + run.offset, now);
        bytes -= now;
      }
    }
  }
};

// Kept until the type is freed; whoever holds it may keep it longer.
std::shared_ptr<const Layout> layout_of(MPI_Datatype type);
// The types of what a call receives from each of `n` ranks. Open MPI's Fortran layer converts as many as the real
// communicator has members, which in a solo replay is one: there they are converted from what the program gave.
class TypesPerRank {
 public:
  // `fortran`: those that it gave, in Fortran's terms; none if it is no Fortran program.
  TypesPerRank(const MPI_Datatype* given, bool solo, int n) : TypesPerRank(given, solo, n, received()) {}
  TypesPerRank(const MPI_Datatype* given, bool solo, int n, const void* fortran);
  const MPI_Datatype* get() const { return converted_.empty() ? given_ : converted_.data(); }

 private:
  static const void* received();
  const MPI_Datatype* given_;
  std::vector<MPI_Datatype> converted_;
};

// MPI_Type_free: the handle may come back as another type's.
void forget_layout(MPI_Datatype type);

}  // namespace reprise::mpi
