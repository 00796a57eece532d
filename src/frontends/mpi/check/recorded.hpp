// `reprise lint`: the same checks in an ordinary run, which is recorded. What is wrong is noted in the trace.
#pragma once

namespace reprise::mpi::check {

// After MPI_Init, when everything else stands at the border.
void check_recorded_run();
// Before MPI_Finalize.
void end_of_recorded_run();

}  // namespace reprise::mpi::check
