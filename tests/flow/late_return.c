// An MPI whose MPI_Wait comes back late: the library has freed the request long ago, and has given its handle to others.
// Legal, but it is what a busy machine does to a tool that knows requests by their handles.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <stdatomic.h>
#include <unistd.h>

static atomic_uint calls;

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const int code = PMPI_Wait(request, status);
  if (atomic_fetch_add(&calls, 1) % 8 == 0) usleep(20000);
  return code;
}
