// Of each window, which epochs this rank has open: whether a call may be made there at all (MPI 4.0, 12.5).
#pragma once

#include "frontends/mpi/check/report.hpp"

namespace reprise::mpi::check {

// How many ranks a window has; -1: nobody knows.
int window_size(MPI_Win win);
// In MPI_Finalize, of windows that are left.
void report_open_epochs();

// Before the call of that name. What is wrong is reported; the call is made all the same.
namespace epochs {

void made(MPI_Win win, int members);
void freed(MPI_Win win);
void fence(MPI_Win win, int assertion);
void start(MPI_Win win);
void complete(MPI_Win win);
void post(MPI_Win win);
void wait(MPI_Win win);
void test(MPI_Win win);
void tested(MPI_Win win);  // MPI_Win_test said yes
void lock(MPI_Win win, int target);
void lock_all(MPI_Win win);
void unlock(MPI_Win win, int target);
void unlock_all(MPI_Win win);
void flush(MPI_Win win, int target);
void flush_all(MPI_Win win);
void accessed(MPI_Win win, int target);

}  // namespace epochs
}  // namespace reprise::mpi::check
