// Files of an explored rank (MPI 4.0, chapter 14). Each rank opens the real file for itself, through the singleton, which
// does whatever concerns one rank: views, pointers, reading and writing. What all must do together goes over the stage.
// There is no shared file pointer.
#pragma once

#include "frontends/mpi/live/live.hpp"

namespace reprise::mpi::live {

// A collective call on a file. Nobody waits there for the others, but where the explorer knows no buffering.
void meet(Function function, MPI_File file);
// The same for what only one of them may do: true for that one. The others go on when it has ended_alone().
bool is_first_there(MPI_File file);
void ended_alone(Function function, MPI_File file);

void put_files();

}  // namespace reprise::mpi::live
