// Files of a rank that runs alone: what was read then is read again, what was written is not written again.
//
// The program's handle is a real file of its own that nobody sees (deleted when it is closed), so views, hints,
// atomicity and error handlers are the library's. Who opened it together, and how, is kept here.
#pragma once

#include <optional>

#include "frontends/mpi/border/operation.hpp"

namespace reprise::mpi {

// A split collective operation: what it reads is there when it ends, but where it goes is said when it begins.
void begin_split(MPI_File file, Operation operation);
Operation end_split(MPI_File file);

// -- solo replay --
int carry_file(MPI_Comm comm, int amode, MPI_File* file);
int close_file(MPI_File* file);
int group_of_file(MPI_File file, MPI_Group* group);
int amode_of_file(MPI_File file, int* amode);
int raise_again(MPI_File file, int error);

}  // namespace reprise::mpi
