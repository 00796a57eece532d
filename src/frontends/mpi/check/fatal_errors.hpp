// Errors that end the program, on their way: a handler of ours stands for MPI_ERRORS_ARE_FATAL, unseen by the program.
#pragma once

#include "frontends/mpi/library.hpp"

namespace reprise::mpi::check {

// `failed` is called with what MPI would end the program for.
void watch_fatal_errors(void (*failed)(MPI_Comm comm, int error));
// Does an error there end the program?
bool is_fatal(MPI_Comm comm);

// What stands for MPI_Comm_get_errhandler and MPI_Comm_set_errhandler from then on.
int get_errhandler(MPI_Comm comm, MPI_Errhandler* handler);
int set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
// As without us, from now on.
void let_be_fatal(MPI_Comm comm);

}  // namespace reprise::mpi::check
