// The program's datatypes as `check` sees them: taken apart into their constructors and laid out by the rules of the
// standard, without asking the library to pack anything, for that may be what it does wrong.
#pragma once

#include "engine/type_tree.hpp"
#include "frontends/mpi/library.hpp"

namespace reprise::mpi::flow {

struct Type {
  std::uint32_t number = 0;  // in the log
  engine::FlatType flat;
  std::vector<std::uint64_t> begins;  // of its runs
  std::vector<std::uint8_t> tree;   // engine::to_bytes
  bool packed_otherwise = false;    // by the library, than its constructors say
};

// Kept for ever: a program that makes the same type again and again has one.
const Type& type_of(MPI_Datatype type);
// MPI_Type_free: the handle may come back as another type's.
void forget_type(MPI_Datatype type);

// Called with each new type, within a lock; gives it its number.
void number_types_with(std::uint32_t (*number)(const Type& type));

}  // namespace reprise::mpi::flow
